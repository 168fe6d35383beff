// Configuration keys that contain the name of a college, a back end, a route or a client.

import { backEndNamePattern } from './back-end-name.ts';
import { backEndUrl, optionalCount, clientList, taskDomain } from './key-types.ts';
import { misCodePattern } from './mis-code.ts';

/** Types of these keys by regular expression, for the schema's `patternProperties`. */
export const namedKeys = {
  // Keys of one college adaptor, by MIS code.
  [`^adaptor\\.${misCodePattern}\\.url$`]: backEndUrl('college adaptor of this MIS code'),
  [`^adaptor\\.${misCodePattern}\\.domain$`]: taskDomain(
    'task domain whose workers serve this MIS code; default pool when absent',
  ),
  // Key of one back end, by its name.
  [`^backEnd\\.${backEndNamePattern}\\.url$`]: backEndUrl(
    'back end of this name; its task type is `<name>_intake`; the environment variable for `course-catalog` is BACKEND_COURSE_CATALOG_URL',
  ),
  // Keys of one route, by the name of its apiEndpoint.
  '^prune\\.[A-Za-z][\\w-]{0,63}\\.days$': optionalCount(
    'how long executions of this route are kept, whatever their status (days)',
  ),
  // Keys of one OAuth client, by client id. An empty list allows nothing.
  '^client\\.[!-~]{1,256}\\.misCodes$': clientList('MIS codes that this client may access; all when absent'),
  '^client\\.[!-~]{1,256}\\.requestsPerSecond$': optionalCount(
    'requests per second of this client on each route; overrides the gateway configuration',
  ),
  '^client\\.[!-~]{1,256}\\.maxInFlight$': optionalCount(
    'concurrent requests of this client on all routes; the limit of the gateway configuration when absent',
  ),
  '^client\\.[!-~]{1,256}\\.taskTypes$': clientList('task types that this client may poll; all when absent'),
  '^client\\.[!-~]{1,256}\\.domains$': clientList(
    'task domains that this client may poll, `NO_DOMAIN` = the default pool; all when absent',
  ),
};
