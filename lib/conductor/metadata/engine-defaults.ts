// Lists the fields and default values that the engine adds to definitions.

import { eventHandlerSchema, taskDefSchema, workflowSchema } from '../definitions/schema.ts';

/** The fields of one kind of object in the form in which the engine returns it. */
export interface ObjectFields {
  /** Fields that the engine sets. */
  readonly addedByEngine: readonly string[];
  /** Values that the engine sets for absent fields. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Order of the fields in a file. */
  readonly order: readonly string[];
  /** Fields that a file must contain, even with the default value. */
  readonly required: readonly string[];
  /** Fields that contain nested objects. With `byName`, the properties of the field contain the nested objects. */
  readonly nested?: () => Readonly<Record<string, { fields: ObjectFields; byName?: true }>>;
}

type ObjectSchema = { readonly properties: object; readonly required?: readonly string[] };

/** Returns the field order and the required fields of a file's schema. */
function fieldsOf({ properties, required = [] }: ObjectSchema): Pick<ObjectFields, 'order' | 'required'> {
  return { order: Object.keys(properties), required };
}

const addedByEngine = ['createTime', 'updateTime', 'createdBy', 'updatedBy', 'ownerApp'];

const workflowTaskFields: ObjectFields = {
  addedByEngine: ['taskDefinition'],
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
    decisionCases: { fields: workflowTaskFields, byName: true },
    defaultCase: { fields: workflowTaskFields },
    loopOver: { fields: workflowTaskFields },
  }),
};

/** The fields of a workflow definition (Conductor's `WorkflowDef`) with the engine's defaults. */
export const workflowFields: ObjectFields = {
  addedByEngine,
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
  nested: () => ({ tasks: { fields: workflowTaskFields } }),
};

/** The fields of a task definition (Conductor's `TaskDef`) with the engine's defaults. */
export const taskDefFields: ObjectFields = {
  addedByEngine,
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

const startWorkflowFields: ObjectFields = {
  addedByEngine: [],
  ...fieldsOf(actionSchema.properties.start_workflow),
  defaults: {},
};

const actionFields: ObjectFields = {
  addedByEngine: [],
  ...fieldsOf(actionSchema),
  defaults: { expandInlineJSON: false },
  nested: () => ({ start_workflow: { fields: startWorkflowFields } }),
};

/** The fields of an event handler (Conductor's `EventHandler`) with the engine's defaults. */
export const eventHandlerFields: ObjectFields = {
  addedByEngine,
  ...fieldsOf(eventHandlerSchema),
  defaults: { active: false },
  nested: () => ({ actions: { fields: actionFields } }),
};
