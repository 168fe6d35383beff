// Names the workflows and tasks of the MDM synchronization, on which the reconciler relies.

/** The workflow that executes a client's PATCH. */
export const patchWorkflow = 'college-adaptorWF';
/** The version of `patchWorkflow` that produces no event; probes use it to read a record. */
export const readVersion = 1;
/** The workflow that notifies MDM of a PATCH. */
export const notifyWorkflow = 'mdmWF';
/** The workflow that shares a cccid with one interested system. */
export const shareWorkflow = 'mdm-shareWF';
/** Reference name of the adaptor task in `patchWorkflow`. */
export const intakeTask = 'college-adaptor_intake';
/** Reference name of the notification task in `notifyWorkflow`. */
export const notifyTask = 'mdm_notify';
/** Reference name in `notifyWorkflow` of the loop over the interested systems. */
export const systemLoop = 'each_system';
