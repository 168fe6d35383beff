// Entry point of the identity provider process. SIGUSR2 rotates its signing keys.

import { errorFields } from '#lib/telemetry/logging/log.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { readOptions } from './options.ts';
import { startIdentityProvider } from './start-identity-provider.ts';

await runProgram('identity-provider', async (log) => {
  const provider = await startIdentityProvider({ ...(await readOptions(process.env)), log });
  process.on('SIGUSR2', () => {
    provider
      .rotateKeys()
      .catch((error: unknown) => log.error(errorFields(error), 'the signing keys could not be rotated'));
  });
  return { ready: { url: provider.url, issuer: provider.issuer }, stop: () => provider.stop() };
});
