// Creates the state that an engine leaves if it is killed between storing an execution and scheduling its task: no
// task and no index row.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Removes an execution's task, which no worker has taken, and the execution's row in the index.
 * @param stateDir state directory of an engine on SQLite
 * @param ageMs how long ago the execution appears to have been started
 */
export function removeTask(stateDir: string, executionId: string, ageMs: number): void {
  const database = new DatabaseSync(join(stateDir, 'engine', 'conductor.db'), { timeout: 5_000 });
  const run = (statement: string, ...values: string[]) => database.prepare(statement).run(...values);
  const tasks = 'SELECT task_id FROM workflow_to_task WHERE workflow_id = ?';
  try {
    database.exec('BEGIN IMMEDIATE');
    run(`DELETE FROM queue_message WHERE message_id IN (${tasks}) OR message_id = ?`, executionId, executionId);
    for (const table of ['task', 'task_in_progress', 'task_index'])
      run(`DELETE FROM ${table} WHERE task_id IN (${tasks})`, executionId);
    for (const table of ['task_scheduled', 'workflow_to_task', 'workflow_index'])
      run(`DELETE FROM ${table} WHERE workflow_id = ?`, executionId);
    const createdAt = `json_extract(json_data, '$.createTime') - ${ageMs}`;
    run(
      `UPDATE workflow SET json_data = json_set(json_data, '$.createTime', ${createdAt}) WHERE workflow_id = ?`,
      executionId,
    );
    database.exec('COMMIT');
  } finally {
    database.close();
  }
}
