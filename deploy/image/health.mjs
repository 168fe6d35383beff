// Requests a router's health from its operations port: `node deploy/image/health.mjs [live|ready] [http://host:port]`
// prints the response. The exit code is 0 when its status is 200.

const [question = 'live', base = `http://127.0.0.1:${process.env.OPS_PORT || 8081}`] = process.argv.slice(2);

try {
  const answer = await fetch(`${base}/health/${question}`, { signal: AbortSignal.timeout(4_000) });
  process.stdout.write(`${await answer.text()}\n`);
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  process.stdout.write(`${base} does not respond: ${error.cause?.code ?? error.message}\n`);
  process.exitCode = 1;
}
