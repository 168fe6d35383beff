// What a definition comes back with from the engine that its file does not say: notes of the engine and its defaults.

import { eventHandlerSchema, taskDefSchema, workflowSchema } from '../definitions/schema.ts';

/** How one kind of object comes back. */
export interface Shape {
  /** Fields the engine sets by itself. */
  readonly noted: readonly string[];
  /** Values the engine writes out where the file says nothing. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** The fields in the order of a file. */
  readonly order: readonly string[];
  /** Fields that a file always says, even where it is the default. */
  readonly written: readonly string[];
  /** Fields that hold objects of a shape; `byName`: in an object, one under each name. */
  readonly nested?: () => Readonly<Record<string, { shape: Shape; byName?: true }>>;
}

type ObjectSchema = { readonly properties: object; readonly required?: readonly string[] };

/** Order and obligations of the file's own schema. */
function fieldsOf({ properties, required = [] }: ObjectSchema): Pick<Shape, 'order' | 'written'> {
  return { order: Object.keys(properties), written: required };
}

const noted = ['createTime', 'updateTime', 'createdBy', 'updatedBy', 'ownerApp'];

const workflowTaskShape: Shape = {
  noted: ['taskDefinition'],
  ...fieldsOf(workflowSchema.properties.tasks.items.$defs.WorkflowTask),
  defaults: {
    type: 'SIMPLE',
    inputParameters: {},
    decisionCases: {},
    defaultCase: [],
    forkTasks: [],
    startDelay: 0,
    joinOn: [],
    optional: false,
    defaultExclusiveJoinTask: [],
    asyncComplete: false,
    loopOver: [],
    onStateChange: {},
    permissive: false,
    metadata: {},
  },
  nested: () => ({
    decisionCases: { shape: workflowTaskShape, byName: true },
    defaultCase: { shape: workflowTaskShape },
    loopOver: { shape: workflowTaskShape },
  }),
};

export const workflowShape: Shape = {
  noted,
  ...fieldsOf(workflowSchema),
  defaults: {
    inputParameters: [],
    outputParameters: {},
    schemaVersion: 2,
    restartable: true,
    workflowStatusListenerEnabled: false,
    timeoutPolicy: 'ALERT_ONLY',
    timeoutSeconds: 0,
    variables: {},
    inputTemplate: {},
    enforceSchema: true,
    metadata: {},
    maskedFields: [],
  },
  nested: () => ({ tasks: { shape: workflowTaskShape } }),
};

export const taskDefShape: Shape = {
  noted,
  ...fieldsOf(taskDefSchema),
  defaults: {
    retryCount: 3,
    timeoutSeconds: 0,
    inputKeys: [],
    outputKeys: [],
    runtimeMetadata: [],
    timeoutPolicy: 'TIME_OUT_WF',
    retryLogic: 'FIXED',
    retryDelaySeconds: 60,
    responseTimeoutSeconds: 3_600,
    inputTemplate: {},
    rateLimitPerFrequency: 0,
    rateLimitFrequencyInSeconds: 1,
    backoffScaleFactor: 1,
    maxRetryDelaySeconds: 0,
    backoffJitterMs: 0,
    totalTimeoutSeconds: 0,
    taskStatusListenerEnabled: true,
    enforceSchema: false,
  },
};

const actionSchema = eventHandlerSchema.properties.actions.items;

const startWorkflowShape: Shape = {
  noted: [],
  ...fieldsOf(actionSchema.properties.start_workflow),
  defaults: {},
};

const actionShape: Shape = {
  noted: [],
  ...fieldsOf(actionSchema),
  defaults: { expandInlineJSON: false },
  nested: () => ({ start_workflow: { shape: startWorkflowShape } }),
};

export const eventHandlerShape: Shape = {
  noted,
  ...fieldsOf(eventHandlerSchema),
  defaults: { active: false },
  nested: () => ({ actions: { shape: actionShape } }),
};
