// Preloaded by run-entry.mjs: sends SIGTERM to the process group when the parent process dies.

process.once('disconnect', () => process.kill(-process.pid, 'SIGTERM'));
// The IPC channel must not keep a finished program running.
process.channel?.unref();
