// The engine settings that bench:engine compares with the shipped settings.

/** One difference from the shipped settings. */
export interface Setting {
  /** Name in tables. */
  readonly name: string;
  /** Property lines that replace the shipped ones. */
  readonly properties?: readonly string[];
  /** Returns the JVM options that replace the given ones. */
  readonly java?: (options: readonly string[]) => readonly string[];
  /** SQL statements that are executed in the database. */
  readonly sql?: readonly string[];
  /** The only kind of database that has this setting. */
  readonly only?: 'sqlite' | 'postgresql';
}

/**
 * JVM options that replace those of the embedded engine. As in production, the heap is larger than 384 MiB and C1 is not
 * the only compiler; unlike in production, the garbage collector is ParallelGC.
 */
export const productionJava: readonly string[] = [
  '-Xmx1g',
  '-XX:+UseParallelGC',
  '-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector',
  '-Xlog:disable',
];

const property = (line: string, only?: Setting['only']): Setting => ({
  name: line,
  properties: [line],
  ...(only === undefined ? {} : { only }),
});
const javaInstead = (name: string, of: string, by: readonly string[]): Setting => ({
  name,
  java: (options) => [...options.filter((option) => !option.startsWith(of)), ...by],
});
const fullTextIndex = 'DROP INDEX workflow_index_json_data_json_idx';
const pathIndex = 'DROP INDEX workflow_index_json_data_gin_idx';
const initSql = 'spring.datasource.hikari.connection-init-sql';

export const settings: readonly Setting[] = [
  { name: 'nothing: the same engine twice' },
  // Shipped settings, each reset to the default of Conductor or Java.
  property('spring.datasource.hikari.maximum-pool-size=10'),
  property('conductor.integrations.ai.enabled=true'),
  property('conductor.scheduler.enabled=true'),
  property('conductor.system-task-workers.enabled=true'),
  property('conductor.app.sweeperThreadCount=4'),
  property('conductor.app.sweeper.queuePopTimeout=100'),
  property('conductor.app.workflowOffsetTimeout=30'),
  property('conductor.app.taskIndexingEnabled=true'),
  {
    name: 'the default polling of the event queue',
    properties: ['conductor.app.eventQueuePollCount=10', 'conductor.app.eventQueueLongPollTimeout=1000'],
  },
  property('conductor.postgres.onlyIndexOnStatusChange=false', 'postgresql'),
  property('conductor.postgres.pollDataFlushInterval=0', 'postgresql'),
  property('logging.level.root=INFO'),
  javaInstead('the default logger context', '-Dlog4j2', []),
  // Other collectors, and only the first JIT compiler, instead of the options of `productionJava`.
  javaInstead('-XX:+UseSerialGC', '-XX:+UseParallelGC', ['-XX:+UseSerialGC']),
  javaInstead('-XX:+UseG1GC', '-XX:+UseParallelGC', ['-XX:+UseG1GC']),
  javaInstead('-XX:TieredStopAtLevel=1', 'none', ['-XX:TieredStopAtLevel=1']),
  // Settings that are not shipped.
  javaInstead('-XX:+UseCompactObjectHeaders', 'none', ['-XX:+UseCompactObjectHeaders']),
  javaInstead('-XX:+UseTransparentHugePages', 'none', ['-XX:+UseTransparentHugePages']),
  property('server.tomcat.max-keep-alive-requests=-1'),
  property('server.tomcat.threads.max=1', 'sqlite'),
  property('server.tomcat.threads.max=8'),
  property('spring.threads.virtual.enabled=true'),
  {
    name: 'virtual threads on one platform thread',
    properties: ['spring.threads.virtual.enabled=true'],
    java: (options) => [...options, '-Djdk.virtualThreadScheduler.parallelism=1'],
  },
  {
    name: 'no observation of requests',
    properties: ['management.observations.enable.http=false', 'management.metrics.enable.http=false'],
  },
  property('spring.mvc.formcontent.filter.enabled=false'),
  property('spring.datasource.hikari.auto-commit=false'),
  property('spring.datasource.hikari.maximum-pool-size=4', 'postgresql'),
  property('spring.datasource.hikari.maximum-pool-size=8', 'postgresql'),
  property('spring.datasource.hikari.data-source-properties.prepareThreshold=1', 'postgresql'),
  property(`${initSql}=SET plan_cache_mode=force_generic_plan`, 'postgresql'),
  property(`${initSql}=SET jit=off`, 'postgresql'),
  // Not a candidate for shipping: a crash of the database would lose writes that were confirmed to clients. The
  // setting shows the cost of syncing.
  property(`${initSql}=SET synchronous_commit=off`, 'postgresql'),
  { name: 'no full-text index of workflows', sql: [fullTextIndex], only: 'postgresql' },
  { name: 'no index on the JSON of workflows', sql: [fullTextIndex, pathIndex], only: 'postgresql' },
  property(`${initSql}=PRAGMA cache_size=-65536`, 'sqlite'),
  property(`${initSql}=PRAGMA mmap_size=268435456`, 'sqlite'),
  property(`${initSql}=PRAGMA wal_autocheckpoint=10000`, 'sqlite'),
  property(`${initSql}=PRAGMA temp_store=MEMORY`, 'sqlite'),
];
