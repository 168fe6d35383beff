// Defines the JSON schemas of definition files, with only those fields of Conductor that this product uses.

import { type Static, Type } from '#lib/json/json-schema.ts';

const strict = { additionalProperties: false } as const;
const name = Type.String({ pattern: '^[A-Za-z0-9_-]+$' });
const text = Type.String({ minLength: 1 });
const seconds = (minimum: number) => Type.Integer({ minimum, description: 'seconds' });
const values = Type.Record(Type.String(), Type.Unknown());
const email = Type.String({ pattern: '^[^@\\s]+@[^@\\s]+$' });

/** A task of a workflow (`WorkflowTask`). task-types.ts lists the required fields of each type. */
const workflowTask = Type.Cyclic(
  {
    WorkflowTask: Type.Object(
      {
        name: text,
        taskReferenceName: Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_-]*$' }),
        type: text,
        description: Type.Optional(text),
        inputParameters: Type.Optional(values),
        optional: Type.Optional(Type.Boolean()),
        startDelay: Type.Optional(seconds(0)),
        retryCount: Type.Optional(Type.Integer({ minimum: 0 })),
        asyncComplete: Type.Optional(Type.Boolean()),
        sink: Type.Optional(text),
        evaluatorType: Type.Optional(text),
        expression: Type.Optional(text),
        decisionCases: Type.Optional(Type.Record(Type.String(), Type.Array(Type.Ref('WorkflowTask')))),
        defaultCase: Type.Optional(Type.Array(Type.Ref('WorkflowTask'))),
        loopCondition: Type.Optional(text),
        loopOver: Type.Optional(Type.Array(Type.Ref('WorkflowTask'))),
        items: Type.Optional(text),
        // These fields belong to task types that are not allowed. They are accepted here, so that checkWorkflow reports
        // the task type instead of an unknown key.
        forkTasks: Type.Optional(Type.Unknown()),
        joinOn: Type.Optional(Type.Unknown()),
        subWorkflowParam: Type.Optional(Type.Unknown()),
        dynamicTaskNameParam: Type.Optional(Type.Unknown()),
        dynamicForkTasksParam: Type.Optional(Type.Unknown()),
        dynamicForkTasksInputParamName: Type.Optional(Type.Unknown()),
      },
      strict,
    ),
  },
  'WorkflowTask',
);

/** Schema of `workflows/<name>.v<version>.json`. */
export const workflowSchema = Type.Object(
  {
    name,
    version: Type.Integer({ minimum: 1 }),
    description: text,
    ownerEmail: email,
    schemaVersion: Type.Literal(2),
    restartable: Type.Boolean({ description: 'false: a completed execution cannot be run again by hand' }),
    inputParameters: Type.Array(text, {
      uniqueItems: true,
      description: 'names of the inputs; expressions may use no others',
    }),
    tasks: Type.Array(workflowTask, { minItems: 1 }),
    outputParameters: Type.Optional(values),
    variables: Type.Optional(values),
    inputTemplate: Type.Optional(values),
    timeoutSeconds: Type.Optional(seconds(0)),
    timeoutPolicy: Type.Optional(Type.Enum(['TIME_OUT_WF', 'ALERT_ONLY'])),
  },
  strict,
);

/** Schema of `workflows/tasks/<name>.json`. Fields for which the engine has unsuitable defaults are required. */
export const taskDefSchema = Type.Object(
  {
    name,
    description: text,
    ownerEmail: email,
    retryCount: Type.Integer({ minimum: 0 }),
    retryLogic: Type.Enum(['FIXED', 'EXPONENTIAL_BACKOFF', 'LINEAR_BACKOFF']),
    retryDelaySeconds: seconds(0),
    responseTimeoutSeconds: seconds(1),
    timeoutSeconds: seconds(0),
    timeoutPolicy: Type.Enum(['RETRY', 'TIME_OUT_WF', 'ALERT_ONLY']),
    pollTimeoutSeconds: Type.Optional(seconds(0)),
    backoffScaleFactor: Type.Optional(Type.Integer({ minimum: 1 })),
    maxRetryDelaySeconds: Type.Optional(seconds(0)),
    totalTimeoutSeconds: Type.Optional(seconds(0)),
    inputTemplate: Type.Optional(values),
  },
  strict,
);

const startWorkflow = Type.Object(
  {
    name,
    version: Type.Integer({ minimum: 1, description: 'always pinned: otherwise the engine would start the latest' }),
    correlationId: text,
    taskToDomain: Type.Record(Type.String(), text, {
      description: '{} = the default pool; without it, the domains of the workflow that produced the event would apply',
    }),
    input: values,
  },
  strict,
);

/** Schema of `event-handlers/<name>.json`. A name that contains `{mis}` denotes a template: see for-colleges.ts. */
export const eventHandlerSchema = Type.Object(
  {
    name: Type.String({ pattern: '^([A-Za-z0-9_-]|\\{mis\\})+$' }),
    event: Type.String({ pattern: '^conductor:[^:]+:[^:]+$' }),
    condition: Type.Optional(text),
    evaluatorType: Type.Optional(Type.Literal('javascript')),
    active: Type.Boolean({ description: 'the engine defaults to false' }),
    actions: Type.Array(
      Type.Object(
        {
          action: Type.Literal('start_workflow'),
          start_workflow: startWorkflow,
          expandInlineJSON: Type.Optional(
            Type.Literal(false, { description: 'true would parse text that clients have sent' }),
          ),
        },
        strict,
      ),
      { minItems: 1 },
    ),
  },
  strict,
);

/** A workflow definition that has passed validation. */
export type WorkflowDefinition = Static<typeof workflowSchema>;
/** A task of a workflow definition. */
export type WorkflowTask = WorkflowDefinition['tasks'][number];
/** A task definition that has passed validation. */
export type TaskDefinition = Static<typeof taskDefSchema>;
/** An event handler that has passed validation. */
export type EventHandler = Static<typeof eventHandlerSchema>;
