// Loaded before an entry file (run-entry.mjs): when the process that runs it is gone, the entry and its group are asked to stop.

process.once('disconnect', () => process.kill(-process.pid, 'SIGTERM'));
// The channel alone must not keep a finished program alive.
process.channel?.unref();
