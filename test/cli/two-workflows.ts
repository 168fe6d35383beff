// A change to gateway.config.yml that gives the route `movies` a second workflow, for requests to xml.example.org.

const action = '{ openapi: config/openapi/movies.yml, name: moviesWF, version: 1, strip: /movies }';

/** The text to replace, and its replacement. */
export const twoWorkflows = {
  from: `          - action: ${action}`,
  to: `          - action: ${action}
            condition: { name: not, condition: { name: hostMatch, pattern: xml.example.org } }
          - action: { name: lms-dwWF, version: 1, strip: /movies, responseDeadlineMs: 21000, admission: { backEndOf: title } }`,
} as const;
