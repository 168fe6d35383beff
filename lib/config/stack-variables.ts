// Help text about the environment variables of the stack, for `npm start` and the command `start`.

/** Lines for a help text: each variable with its default or its effect. */
export const stackVariables = `Environment (default):
  ROUTER_PORT (8080)  OPS_PORT (8081)  CONDUCTOR_PORT (8082)  IDP_PORT (8083)  BACKENDS_PORT (8084)
  STATE_DIR (.run)    databases, keys and logs; each stack needs its own
  CONDUCTOR_URL       uses the engine that runs there instead of starting one
  OAUTH_ISSUER        uses that identity provider instead of starting one
Any other key of the configuration can be set as well: docs/reference/configuration.md.`;
