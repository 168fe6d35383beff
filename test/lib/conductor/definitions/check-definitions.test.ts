// Tests of checking definitions: how problems in files, workflows, event handlers and timeouts are reported.

import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CheckContext, checkDefinitions } from '#lib/conductor/definitions/check-definitions.ts';
import { DefinitionError, loadDefinitions, readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Path } from '#lib/conductor/definitions/json-text.ts';
import { type CopyOfProduct, copyOfProduct, productDir } from './copy-of-product.ts';

const context: CheckContext = {
  backEndTimeoutMs: 20_000,
  domains: { '002': '002' },
  routes: [
    route({ name: 'lmsDW', workflow: 'lms-dwWF' }),
    route({ name: 'adaptor', workflow: 'college-adaptorWF', version: 2, writes: true }),
    route({ name: 'movies', workflow: 'moviesWF' }),
  ],
};

function route(given: Partial<CheckContext['routes'][number]>): CheckContext['routes'][number] {
  return {
    name: 'route',
    place: `gateway.config.yml: pipelines.${given.name}`,
    workflow: 'moviesWF',
    version: 1,
    responseDeadlineMs: 25_000,
    writes: false,
    ...given,
  };
}

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

const problemsIn = (dir: string, against: CheckContext | undefined = context) =>
  checkDefinitions(readDefinitions(dir), against);

type Change = (copy: CopyOfProduct) => void;
type Case = [what: string, change: Change, problem: RegExp];

/** Expects each change to cause one line that names the file, the place and the reason. */
function expectEach(cases: readonly Case[]): void {
  it.each(cases)('%s: reported in one line', (_what, change, problem) => {
    change(copy);
    expect(problemsIn(copy.dir)).toEqual([expect.stringMatching(problem)]);
  });
}

describe('the definitions of the product', () => {
  it('have no problems', () => {
    expect(problemsIn(productDir)).toEqual([]);
  });
});

describe('a definition file', () => {
  expectEach([
    [
      'that is not JSON',
      ({ replace }) => replace('workflows/moviesWF.v1.json', '"version": 1,', '"version": 1'),
      /^workflows\/moviesWF\.v1\.json:4:3: Expected ',' or '}'/,
    ],
    [
      'with a key given twice',
      ({ replace }) => replace('event-handlers/mdm.json', '"active": true,', '"active": true, "active": false,'),
      /^event-handlers\/mdm\.json:6:19: the key is given twice$/,
    ],
    [
      'with an unknown key deep inside',
      ({ set }) => set('workflows/college-adaptorWF.v2.json', ['tasks', 1, 'decisionCases', 'PATCH', 0, 'sinks'], 'x'),
      /^workflows\/college-adaptorWF\.v2\.json:\d+:\d+: tasks\[1\]\.decisionCases\.PATCH\[0\]\.sinks: unknown key$/,
    ],
    [
      'that lacks a field whose default in the engine is unsuitable',
      ({ set }) => set('workflows/tasks/movies_intake.json', ['responseTimeoutSeconds'], undefined),
      /^workflows\/tasks\/movies_intake\.json:1:1: "responseTimeoutSeconds" is missing$/,
    ],
    [
      'with a value out of range',
      ({ replace }) => replace('workflows/tasks/movies_intake.json', '"timeoutSeconds": 0', '"timeoutSeconds": -1'),
      /^workflows\/tasks\/movies_intake\.json:9:21: timeoutSeconds: must be >= 0$/,
    ],
    [
      'of another schema version',
      ({ replace }) => replace('workflows/moviesWF.v1.json', '"schemaVersion": 2', '"schemaVersion": 1'),
      /^workflows\/moviesWF\.v1\.json:6:20: schemaVersion: must be 2$/,
    ],
    [
      'named for another version',
      ({ rename }) => rename('workflows/college-adaptorWF.v1.json', 'workflows/college-adaptorWF.v7.json'),
      /^workflows\/college-adaptorWF\.v7\.json:2:11: name: the file must be named workflows\/college-adaptorWF\.v1\.json$/,
    ],
    [
      'named for another task type',
      ({ rename }) => rename('workflows/tasks/mdm_share.json', 'workflows/tasks/mdm-share.json'),
      /^workflows\/tasks\/mdm-share\.json:2:11: name: the file must be named workflows\/tasks\/mdm_share\.json$/,
    ],
    [
      'that is not a definition at all',
      ({ write }) => write('workflows/tasks/notes.txt', 'remember the milk'),
      /^workflows\/tasks\/notes\.txt:1:1: Unexpected token 'r'$/,
    ],
  ]);

  it('with problems in several files: all are listed', () => {
    copy.replace('workflows/moviesWF.v1.json', '"version": 1,', '');
    copy.replace('workflows/tasks/mdm_notify.json', '"FIXED"', '"SOMETIMES"');
    copy.write('event-handlers/mdm.json', '{');
    expect(problemsIn(copy.dir).map((line) => line.split(':')[0])).toEqual([
      'workflows/moviesWF.v1.json',
      'workflows/tasks/mdm_notify.json',
      'event-handlers/mdm.json',
    ]);
  });

  it('that is broken: causes no messages about missing definitions', () => {
    copy.write('workflows/tasks/movies_intake.json', '{');
    expect(problemsIn(copy.dir)).toHaveLength(1);
  });

  it('that is broken: loading it throws one error with all problems', () => {
    copy.write('workflows/tasks/movies_intake.json', '{');
    expect(() => loadDefinitions(copy.dir)).toThrow(DefinitionError);
    expect(() => loadDefinitions(copy.dir)).toThrow(/movies_intake\.json:1:2: Expected property name/);
  });
});

describe('a symbolic link in a folder of definitions', () => {
  /**
   * Replaces the files of a folder with links, as in a mounted ConfigMap: `file` → `..data/file`, `..data` →
   * `..2026_x`.
   */
  function mountAsConfigMap(folder: string): void {
    const at = (...names: string[]) => join(copy.dir, folder, ...names);
    const names = readdirSync(at());
    mkdirSync(at('..2026_x'));
    symlinkSync('..2026_x', at('..data'));
    for (const name of names) {
      renameSync(at(name), at('..2026_x', name));
      symlinkSync(`..data/${name}`, at(name));
    }
  }

  it.each(['workflows', 'workflows/tasks', 'event-handlers'])('in %s, mounted from a ConfigMap: read', (folder) => {
    const files = readDefinitions(copy.dir);
    mountAsConfigMap(folder);
    expect(readDefinitions(copy.dir)).toEqual(files);
    expect(problemsIn(copy.dir)).toEqual([]);
  });

  const moviesWF = 'workflows/moviesWF.v1.json';
  expectEach([
    [
      'without a target',
      (given) => {
        given.remove(moviesWF);
        symlinkSync('..data/moviesWF.v1.json', join(given.dir, moviesWF));
      },
      /^workflows\/moviesWF\.v1\.json: cannot be read: it is a symbolic link to a file that does not exist$/,
    ],
    [
      'to itself',
      (given) => {
        given.remove(moviesWF);
        symlinkSync('moviesWF.v1.json', join(given.dir, moviesWF));
      },
      /^workflows\/moviesWF\.v1\.json: cannot be read: ELOOP/,
    ],
    [
      'to a folder',
      (given) => {
        given.remove(moviesWF);
        symlinkSync('tasks', join(given.dir, moviesWF));
      },
      /^workflows\/moviesWF\.v1\.json: cannot be read: it is not a file$/,
    ],
    [
      'to a file that is not JSON',
      (given) => {
        given.write('elsewhere', '{');
        given.remove(moviesWF);
        symlinkSync('../elsewhere', join(given.dir, moviesWF));
      },
      /^workflows\/moviesWF\.v1\.json:1:2: Expected property name/,
    ],
  ]);

  it('without a target: reported beside the problems of other files, and loading throws them all', () => {
    symlinkSync('nowhere', join(copy.dir, 'event-handlers/lost.json'));
    copy.write('workflows/tasks/movies_intake.json', '{');
    const problems = [
      expect.stringMatching(/^workflows\/tasks\/movies_intake\.json:1:2: /),
      'event-handlers/lost.json: cannot be read: it is a symbolic link to a file that does not exist',
    ];
    expect(problemsIn(copy.dir)).toEqual(problems);
    expect(() => loadDefinitions(copy.dir)).toThrow(expect.objectContaining({ problems }));
  });

  it('to a folder, or with a name that begins with a dot: ignored, like a folder and a hidden file', () => {
    symlinkSync('tasks', join(copy.dir, 'workflows/same-tasks'));
    symlinkSync('nowhere', join(copy.dir, 'workflows/.#moviesWF.v1.json'));
    expect(problemsIn(copy.dir)).toEqual([]);
  });

  it('in place of the folder, to a file: reported for the folder', () => {
    renameSync(join(copy.dir, 'event-handlers'), join(copy.dir, 'handlers'));
    symlinkSync('gateway.config.yml', join(copy.dir, 'event-handlers'));
    expect(problemsIn(copy.dir)).toEqual([expect.stringMatching(/^event-handlers: cannot be read: ENOTDIR/)]);
  });
});

describe('a workflow', () => {
  const v2 = 'workflows/college-adaptorWF.v2.json';
  const mdm = 'workflows/mdmWF.v1.json';
  expectEach([
    [
      'with a SIMPLE task that has no task definition',
      ({ set }) => set(mdm, ['tasks', 2], { name: 'mdm_ping', taskReferenceName: 'ping', type: 'SIMPLE' }),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[2\]\.name: there is no workflows\/tasks\/mdm_ping\.json$/,
    ],
    [
      'with a task type that needs the system task workers',
      ({ set }) => set(mdm, ['tasks', 2], { name: 'wait', taskReferenceName: 'wait', type: 'WAIT' }),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[2\]\.type: WAIT would never end: it needs the engine's system task workers/,
    ],
    [
      'with an unknown task type',
      ({ replace }) => replace(mdm, '"DO_WHILE"', '"DO_UNTIL"'),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[1\]\.type: DO_UNTIL is not a task type that this product uses/,
    ],
    [
      'with a reference name used twice',
      ({ set }) => set(mdm, ['tasks', 2], { name: 'mdm_notify', taskReferenceName: 'mdm_notify', type: 'SIMPLE' }),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[2\]\.taskReferenceName: "mdm_notify" is used twice$/,
    ],
    [
      'with an expression that names no task',
      ({ replace }) =>
        replace(v2, '"${college-adaptor_intake.output.outbound}" }', '"${college_adaptor.output.outbound}" }'),
      /^workflows\/college-adaptorWF\.v2\.json:\d+:\d+: outputParameters\.outbound: \$\{college_adaptor\.output\.outbound}: no task has the reference name "college_adaptor"$/,
    ],
    [
      'with an expression that names a task that runs later',
      ({ set }) => set(mdm, ['tasks', 0, 'inputParameters', 'mis'], '${each_system.output.iteration}'),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[0\]\.inputParameters\.mis: .*: the task "each_system" runs later$/,
    ],
    [
      'with an expression that names an undeclared input',
      ({ set }) => set(mdm, ['tasks', 0, 'inputParameters', 'mis'], '${workflow.input.mes}'),
      /tasks\[0\]\.inputParameters\.mis: \$\{workflow\.input\.mes}: "mes" is not among the workflow's inputParameters$/,
    ],
    [
      'with an expression that would read the environment',
      ({ set }) => set(mdm, ['tasks', 0, 'inputParameters', 'mis'], '${HOME}'),
      /\$\{HOME}: no task has the reference name "HOME"$/,
    ],
    [
      'with an expression that would read a secret',
      ({ set }) => set(mdm, ['tasks', 0, 'inputParameters', 'mis'], '${workflow.secrets.key}'),
      /\$\{workflow\.secrets\.key}: a workflow has no "secrets"$/,
    ],
    [
      'with an expression that names no field of the workflow',
      ({ set }) => set(mdm, ['tasks', 0, 'inputParameters', 'mis'], '${workflow}'),
      /\$\{workflow}: a field of the workflow must follow, such as input$/,
    ],
    [
      'with an expression that names no field of a task',
      ({ set }) => set(v2, ['outputParameters', 'outbound'], '${college-adaptor_intake}'),
      /\$\{college-adaptor_intake}: a task offers "output" and "input": one of them must follow "college-adaptor_intake"$/,
    ],
    [
      'with an expression that is not closed',
      ({ set }) => set(mdm, ['tasks', 0, 'inputParameters', 'mis'], '${workflow.input.mis'),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[0\]\.inputParameters\.mis: \$\{workflow\.input\.mis: "}" is missing at the end of the expression$/,
    ],
    [
      'with a loop that has no condition',
      ({ set }) => set(mdm, ['tasks', 1, 'loopCondition'], undefined),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[1\]: a task of type DO_WHILE needs "loopCondition"$/,
    ],
    [
      'with a SWITCH whose expression is not one of its parameters',
      ({ replace }) => replace(v2, '"expression": "httpMethod"', '"expression": "method"'),
      /tasks\[1\]: the expression "method" is not among the task's inputParameters$/,
    ],
    [
      'whose event has no handler',
      ({ remove }) => remove('event-handlers/mdm-share-{mis}.json'),
      /^workflows\/mdmWF\.v1\.json:\d+:\d+: tasks\[1\]\.loopOver\[0\]: no event handler listens to conductor:mdmWF:mdm_share_\$\{each_system\.output\.loopItem\.misCode}$/,
    ],
  ]);

  it('with a sink outside the engine: refused, and does not count as producing the event', () => {
    copy.replace(v2, '"conductor:person_patched"', '"kafka:person_patched"');
    expect(problemsIn(copy.dir)).toEqual([
      expect.stringMatching(/tasks\[1\]\.decisionCases\.PATCH\[0\]\.sink: only the engine's own queues carry events/),
      expect.stringMatching(/^event-handlers\/mdm\.json:.*: event: no EVENT task produces this event/),
    ]);
  });

  it('that no longer uses a task type: the task definition is reported as unused', () => {
    copy.remove('workflows/moviesWF.v1.json');
    const withoutMovies = { ...context, routes: context.routes.filter(({ name }) => name !== 'movies') };
    expect(problemsIn(copy.dir, withoutMovies)).toEqual([
      expect.stringMatching(/^workflows\/tasks\/movies_intake\.json:2:11: name: no workflow uses this task type$/),
    ]);
  });
});

describe('an event handler', () => {
  const mdm = 'event-handlers/mdm.json';
  const share = 'event-handlers/mdm-share-{mis}.json';
  it('that listens to an event that no workflow produces: both sides are reported', () => {
    copy.replace(mdm, 'conductor:college-adaptorWF:person_patched', 'conductor:college-adaptorWF:person_changed');
    expect(problemsIn(copy.dir)).toEqual([
      expect.stringMatching(
        /^event-handlers\/mdm\.json:3:12: event: no EVENT task produces this event \(produced: .*person_patched/,
      ),
      expect.stringMatching(
        /^workflows\/college-adaptorWF\.v2\.json:.*: no event handler listens to conductor:college-adaptorWF:person_patched$/,
      ),
    ]);
  });

  const changeStart = (file: string, path: Path, value: unknown): Change => {
    return ({ set }) => set(file, ['actions', 0, 'start_workflow', ...path], value);
  };
  expectEach([
    [
      'that starts an undefined version',
      changeStart(mdm, ['version'], 9),
      /actions\[0\]\.start_workflow\.name: there is no workflow mdmWF version 9$/,
    ],
    [
      'that does not pin a version',
      changeStart(mdm, ['version'], undefined),
      /actions\[0\]\.start_workflow: "version" is missing$/,
    ],
    [
      'that would inherit the domains of the PATCH',
      changeStart(mdm, ['taskToDomain'], undefined),
      /actions\[0\]\.start_workflow: "taskToDomain" is missing$/,
    ],
    [
      'that sends its workflow to a pool other than the default one',
      changeStart(mdm, ['taskToDomain'], { mdm_notify: '002' }),
      /start_workflow\.taskToDomain: must be {}: the default pool runs these tasks$/,
    ],
    [
      'that reads a field that its event does not have',
      changeStart(mdm, ['input', 'mis'], '${misCode}'),
      /start_workflow\.input\.mis: \$\{misCode}: the event of workflows\/college-adaptorWF\.v2\.json carries no "misCode"$/,
    ],
    [
      'with an expression that is not closed',
      changeStart(mdm, ['input', 'mis'], '${mis'),
      /start_workflow\.input\.mis: \$\{mis: "}" is missing at the end of the expression$/,
    ],
    [
      'that passes an input that its workflow does not have',
      changeStart(mdm, ['input', 'college'], '${mis}'),
      /start_workflow\.input\.college: "college" is not among the inputParameters of workflows\/mdmWF\.v1\.json$/,
    ],
    [
      'that leaves out an input of its workflow',
      changeStart(mdm, ['input', 'mis'], undefined),
      /start_workflow\.input: workflows\/mdmWF\.v1\.json needs "mis"$/,
    ],
    [
      'that expands JSON in strings from clients',
      ({ set }) => set(mdm, ['actions', 0, 'expandInlineJSON'], true),
      /actions\[0\]\.expandInlineJSON: must be false$/,
    ],
    ['that does not say whether it is active', ({ set }) => set(mdm, ['active'], undefined), /"active" is missing$/],
    [
      'whose condition is not JavaScript',
      ({ set }) => set(mdm, ['condition'], "$.inbound.httpMethod = = 'PATCH'"),
      /^event-handlers\/mdm\.json:\d+:\d+: condition: is not a JavaScript expression: Unexpected token '='$/,
    ],
    [
      'whose condition throws for an event without inbound',
      ({ set }) => set(mdm, ['condition'], "$.inbound.httpMethod == 'PATCH'"),
      /condition: throws for the event {} \(Cannot read properties of undefined.*delivered forever/,
    ],
    [
      'whose condition never ends',
      ({ set }) => set(mdm, ['condition'], '(() => { for (;;); })()'),
      /condition: throws for the event {} \(Script execution timed out/,
    ],
    [
      'whose condition tries to access the process',
      ({ set }) => set(mdm, ['condition'], "this.constructor.constructor('return process')().exit(3)"),
      /condition: throws for the event {} \(/,
    ],
    [
      'for every college, but in the domain of one',
      changeStart(share, ['taskToDomain'], { mdm_share: '001' }),
      /start_workflow\.taskToDomain: must be {"mdm_share":"{domain}"}: workers for {mis} poll this domain$/,
    ],
    [
      'for every college, but with the event of one',
      (given) => {
        given.set(share, ['event'], 'conductor:mdmWF:mdm_share_002');
        given.set(share, ['actions', 0, 'start_workflow', 'taskToDomain'], { mdm_share: '002' });
      },
      /^event-handlers\/mdm-share-{mis}\.json:.*the name contains {mis}, so the event must contain it too$/,
    ],
  ]);

  describe('in a file of its own for one college', () => {
    const own = 'event-handlers/mdm-share-002.json';
    beforeEach(() => {
      copy.rename(share, own);
      for (const placeholder of ['{mis}', '{domain}']) copy.replace(own, placeholder, '002');
    });

    it('is as valid as the template', () => {
      expect(problemsIn(copy.dir)).toEqual([]);
    });

    it('with the event of another college: refused', () => {
      copy.replace(own, 'mdm_share_002', 'mdm_share_003');
      copy.replace(own, '"mdm_share": "002"', '"mdm_share": "003"');
      expect(problemsIn(copy.dir)).toEqual([
        expect.stringMatching(
          /^event-handlers\/mdm-share-002\.json:.*the event belongs to college 003, so the handler's name must end in "-003"$/,
        ),
      ]);
    });

    it('in the default pool: refused', () => {
      copy.set(own, ['actions', 0, 'start_workflow', 'taskToDomain'], {});
      expect(problemsIn(copy.dir)).toEqual([expect.stringMatching(/must be {"mdm_share":"002"}/)]);
    });

    it('with workers in a domain with another name: a handler for that domain is required', () => {
      const moved = { ...context, domains: { '002': 'site-b' } };
      expect(problemsIn(copy.dir, moved)).toEqual([expect.stringMatching(/must be {"mdm_share":"site-b"}/)]);
      copy.replace(own, '"mdm_share": "002"', '"mdm_share": "site-b"');
      expect(problemsIn(copy.dir, moved)).toEqual([]);
      // Without a configuration, domains are not checked.
      expect(checkDefinitions(readDefinitions(copy.dir))).toEqual([]);
    });
  });
});

describe('a workflow whose lost events the reconciler repairs', () => {
  const v2 = 'workflows/college-adaptorWF.v2.json';
  const v3 = 'workflows/college-adaptorWF.v3.json';
  const mdm = 'workflows/mdmWF.v1.json';
  const payload = ['tasks', 1, 'decisionCases', 'PATCH', 0, 'inputParameters'];
  const addVersion3: Change = (given) => {
    given.write(v3, readFileSync(join(productDir, v2), 'utf8'));
    given.replace(v3, '"version": 2', '"version": 3');
  };
  const addEvent = (given: CopyOfProduct, file: string) =>
    given.set(file, ['tasks', 2], {
      ...{ name: 'audit', taskReferenceName: 'audit', type: 'EVENT', sink: 'conductor' },
      inputParameters: { on: '${on_patch.input.httpMethod}' },
    });

  expectEach([
    [
      'with another reference name for the task that sends the PATCH',
      (given) => {
        addVersion3(given);
        given.replace(v3, '"taskReferenceName": "college-adaptor_intake"', '"taskReferenceName": "intake"');
        given.replace(v3, '${college-adaptor_intake.', '${intake.');
      },
      /^workflows\/college-adaptorWF\.v3\.json:\d+:\d+: tasks\[1\]\.decisionCases\.PATCH\[0\]: this workflow has no task with the taskReferenceName "college-adaptor_intake": the reconciler reads the output of this task to repair lost events, so give this name to the task that produces that output$/,
    ],
    [
      'with another reference name for the loop over interested systems',
      ({ replace }) => replace(mdm, 'each_system', 'systems'),
      /^workflows\/mdmWF\.v1\.json:.* no task with the taskReferenceName "each_system": the reconciler reads/,
    ],
    [
      'whose event reads a task that may not have run',
      ({ set }) => set(v2, [...payload, 'requestId'], '${on_patch.input.httpMethod}'),
      /^workflows\/college-adaptorWF\.v2\.json:.*\.requestId: \$\{on_patch\.input\.httpMethod}: the reconciler cannot resolve this for a lost event: use only workflow\.input, workflow\.workflowId, workflow\.correlationId and college-adaptor_intake$/,
    ],
    [
      'without the version that reads a record',
      ({ remove }) => remove('workflows/college-adaptorWF.v1.json'),
      /^workflows\/college-adaptorWF\.v2\.json:.*: workflows\/college-adaptorWF\.v1\.json is missing: the reconciler needs it to read a record and find out whether a PATCH was applied$/,
    ],
  ]);

  it('with an event in the version that reads a record: refused', () => {
    copy.set('workflows/college-adaptorWF.v1.json', ['tasks', 1], {
      ...{ name: 'read', taskReferenceName: 'read', type: 'EVENT', sink: 'conductor:person_patched' },
      inputParameters: { mis: 1, inbound: 1, outbound: 1, requestId: 1, executionId: 1 },
    });
    expect(problemsIn(copy.dir)).toEqual([
      expect.stringMatching(
        /^workflows\/college-adaptorWF\.v1\.json:.*: tasks\[1\]: version 1 must produce no event, because the reconciler starts it to read a record .*; add the event to a new version$/,
      ),
    ]);
  });

  it('with another event, whose handler starts another workflow: no problem', () => {
    addVersion3(copy);
    addEvent(copy, v3);
    copy.write('event-handlers/audit.json', readFileSync(join(productDir, 'event-handlers/mdm.json'), 'utf8'));
    copy.replace('event-handlers/audit.json', '"mdm"', '"audit"');
    copy.replace('event-handlers/audit.json', 'person_patched', 'audit');
    const start = ['actions', 0, 'start_workflow'];
    copy.set('event-handlers/audit.json', [...start, 'name'], 'moviesWF');
    copy.set('event-handlers/audit.json', [...start, 'correlationId'], '${workflowInstanceId}');
    copy.set('event-handlers/audit.json', [...start, 'input'], { inbound: '${on}' });
    expect(problemsIn(copy.dir)).toEqual([]);
  });

  it('when no handler starts mdmWF: the version that reads a record is not needed', () => {
    for (const file of ['event-handlers/mdm.json', v2, 'workflows/college-adaptorWF.v1.json']) copy.remove(file);
    const problems = problemsIn(copy.dir).filter((line) => line.includes('reconciler'));
    expect(problems).toEqual([]);
  });
});

describe('the output of a routed workflow', () => {
  const movies = 'workflows/moviesWF.v1.json';
  const output = (value: unknown): Change => {
    return ({ set }) => set(movies, ['outputParameters'], value);
  };
  const transform = {
    ...{ name: 'build', taskReferenceName: 'build', type: 'JSON_JQ_TRANSFORM' },
    inputParameters: { queryExpression: '{ statusCodeValue: 200 }' },
  };

  expectEach([
    [
      'with a misspelt outbound',
      output({ outbuond: '${movies_intake.output.outbound}' }),
      /^workflows\/moviesWF\.v1\.json:\d+:\d+: outputParameters: "outbound" is missing: clients of route movies would get no response; write "outbound": "\$\{movies_intake\.output\.outbound}"$/,
    ],
    [
      'with a string that is not an expression',
      output({ outbound: '{movies_intake.output.outbound}' }),
      /^workflows\/moviesWF\.v1\.json:\d+:\d+: outputParameters\.outbound: must be an expression such as "\$\{movies_intake\.output\.outbound}", or an object with a statusCodeValue$/,
    ],
    [
      'with an expression inside a longer string',
      output({ outbound: 'response: ${movies_intake.output.outbound}' }),
      /outputParameters\.outbound: must be an expression such as/,
    ],
    ['with null', output({ outbound: null }), /outputParameters\.outbound: must be an expression such as/],
    [
      'with an object without a status',
      output({ outbound: { body: '${movies_intake.output.body}' } }),
      /^workflows\/moviesWF\.v1\.json:\d+:\d+: outputParameters\.outbound\.statusCodeValue: must be an integer from 200 to 599, or an expression$/,
    ],
    [
      'with a status that is text',
      output({ outbound: { statusCodeValue: '200' } }),
      /outputParameters\.outbound\.statusCodeValue: must be an integer from 200 to 599, or an expression$/,
    ],
    [
      'that is absent although the last task cannot produce outbound',
      ({ set }) => {
        set(movies, ['outputParameters'], undefined);
        set(movies, ['tasks', 1], transform);
      },
      /^workflows\/moviesWF\.v1\.json:1:1: outputParameters: "outbound" is missing: clients of route movies would get no response; write "outbound": "\$\{build\.output\.result}"$/,
    ],
  ]);

  const legitimate: [what: string, change: Change][] = [
    ['a constant response', output({ outbound: { statusCodeValue: 200, headers: {}, body: 'ok' } })],
    ['an object with expressions', output({ outbound: { statusCodeValue: '${movies_intake.output.status}' } })],
    ['a nested expression', output({ outbound: '${movies_intake.output.${workflow.input.inbound}}' })],
    [
      'the result of a JSON_JQ_TRANSFORM',
      ({ set }) => {
        set(movies, ['outputParameters'], { outbound: '${build.output.result}' });
        set(movies, ['tasks', 1], transform);
      },
    ],
    // Without outputParameters, the engine takes the output of the last task.
    ['no outputParameters, after a task of a worker', output(undefined)],
    ['empty outputParameters, after a task of a worker', output({})],
    [
      'a worker in a case of the last task, a SWITCH',
      ({ set }) => {
        set(movies, ['outputParameters'], undefined);
        set(movies, ['tasks', 1], {
          ...{ name: 'choose', taskReferenceName: 'choose', type: 'SWITCH', evaluatorType: 'value-param' },
          ...{ expression: 'kind', inputParameters: { kind: '${workflow.input.inbound.httpMethod}' } },
          decisionCases: { GET: [{ name: 'movies_intake', taskReferenceName: 'again', type: 'SIMPLE' }] },
        });
      },
    ],
    [
      'a TERMINATE',
      ({ set }) => {
        set(movies, ['outputParameters'], { note: '${movies_intake.output.note}' });
        const workflowOutput = { outbound: '${movies_intake.output.outbound}' };
        set(movies, ['tasks', 1], {
          ...{ name: 'end', taskReferenceName: 'end', type: 'TERMINATE' },
          inputParameters: { terminationStatus: 'COMPLETED', workflowOutput },
        });
      },
    ],
  ];
  it.each(legitimate)('from %s: no problem', (_what, change) => {
    change(copy);
    expect(problemsIn(copy.dir)).toEqual([]);
  });

  it('a workflow without a route needs no outbound', () => {
    copy.set(movies, ['outputParameters'], { note: '${movies_intake.output.note}' });
    const routes = context.routes.filter(({ name }) => name !== 'movies');
    expect(problemsIn(copy.dir, { ...context, routes })).toEqual([]);
  });
});

describe('the timeout budget', () => {
  const task = (name: string, field: string, value: unknown): Change => {
    return ({ set }) => set(`workflows/tasks/${name}.json`, [field], value);
  };
  expectEach([
    [
      'a read whose task times out before its back end does',
      task('movies_intake', 'responseTimeoutSeconds', 21),
      /^workflows\/tasks\/movies_intake\.json:\d+:\d+: responseTimeoutSeconds: must be at least 22 s: workers\.backEndTimeoutMs \(20000 ms\) \+ 2 s$/,
    ],
    [
      'a read whose task may take longer than its clients wait',
      task('movies_intake', 'responseTimeoutSeconds', 26),
      /responseTimeoutSeconds: must be at most 25 s: route movies only reads, and its clients do not wait longer$/,
    ],
    [
      'a write whose task would time out during an engine restart',
      task('college-adaptor_intake', 'responseTimeoutSeconds', 59),
      /responseTimeoutSeconds: must be at least 60 s: route adaptor writes, and the task of an applied write must not time out while the engine restarts$/,
    ],
    [
      'a write that the engine would repeat',
      task('college-adaptor_intake', 'retryCount', 1),
      /retryCount: must be 0: route adaptor writes, and a write whose outcome is unknown is never repeated$/,
    ],
    [
      'a task whose number of retries the workflow replaces',
      ({ set }) => set('workflows/college-adaptorWF.v2.json', ['tasks', 0, 'retryCount'], 2),
      /^workflows\/college-adaptorWF\.v2\.json:\d+:\d+: tasks\[0\]\.retryCount: must not be set in a workflow, because it would replace the retryCount of the task definition: set it there$/,
    ],
    [
      'a routed task whose timeout only raises an alert',
      task('movies_intake', 'timeoutPolicy', 'ALERT_ONLY'),
      /timeoutPolicy: must be TIME_OUT_WF: clients of route movies wait for a response$/,
    ],
    [
      'a task whose timeout is shorter than its response timeout',
      task('mdm_notify', 'timeoutSeconds', 30),
      /timeoutSeconds: must be 0 \(none\) or at least responseTimeoutSeconds$/,
    ],
    [
      'a share whose task times out before its back end does',
      task('mdm_share', 'responseTimeoutSeconds', 5),
      /responseTimeoutSeconds: must be at least 22 s/,
    ],
    [
      'a routed workflow with a timeout of its own',
      ({ set }) => set('workflows/moviesWF.v1.json', ['timeoutSeconds'], 30),
      /^workflows\/moviesWF\.v1\.json:\d+:\d+: timeoutSeconds: must be 0 or absent in a routed workflow: the router enforces the deadline$/,
    ],
  ]);

  it('a back end that may take longer than clients wait: reported for each route', () => {
    const slow = { ...context, backEndTimeoutMs: 25_000 };
    const routes = problemsIn(copy.dir, slow).filter((line) => line.startsWith('gateway.config.yml'));
    expect(routes).toEqual(
      ['lmsDW', 'adaptor', 'movies'].map((name) =>
        expect.stringContaining(
          `pipelines.${name}: the response deadline of 25000 ms must be longer than the time that a back end may take`,
        ),
      ),
    );
  });

  it('a route with its own response deadline: that deadline applies', () => {
    const routes = [route({ name: 'movies', workflow: 'moviesWF', responseDeadlineMs: 15_000 })];
    expect(problemsIn(copy.dir, { ...context, routes })).toEqual([
      expect.stringContaining('the response deadline of 15000 ms'),
      expect.stringContaining('must be at most 15 s'),
    ]);
  });

  it('a route to a workflow version that is not defined: reported', () => {
    const routes = [route({ name: 'movies', workflow: 'moviesWF', version: 2 })];
    expect(problemsIn(copy.dir, { ...context, routes })).toEqual([
      'gateway.config.yml: pipelines.movies: there is no workflow moviesWF version 2',
    ]);
  });
});
