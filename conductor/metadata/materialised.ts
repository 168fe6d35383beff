// What a definition comes back with from the engine that its file does not say: notes of the engine and its defaults.

/** How one kind of object comes back. */
export interface Shape {
  /** Fields the engine sets by itself. */
  readonly noted: readonly string[];
  /** Values the engine writes out where the file says nothing. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Fields that hold objects of a shape; `byName`: in an object, one under each name. */
  readonly nested?: () => Readonly<Record<string, { shape: Shape; byName?: true }>>;
}

const noted = ['createTime', 'updateTime', 'createdBy', 'updatedBy', 'ownerApp'];

const workflowTaskShape: Shape = {
  noted: ['taskDefinition'],
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

export const eventHandlerShape: Shape = {
  noted,
  defaults: { active: false },
  nested: () => ({ actions: { shape: { noted: [], defaults: { expandInlineJSON: false } } } }),
};
