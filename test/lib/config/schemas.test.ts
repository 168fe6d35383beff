// Tests that the schemas are valid. Programs compile the schemas without this check.

import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import * as definitions from '#lib/conductor/definitions/schema.ts';
import { configSchema } from '#lib/config/schema.ts';
import { gatewayConfigSchema } from '../../../gateway/plugin-api/gateway-config-schema.ts';

const { workflowSchema, taskDefSchema, eventHandlerSchema } = definitions;

it.each(Object.entries({ configSchema, gatewayConfigSchema, workflowSchema, taskDefSchema, eventHandlerSchema }))(
  '%s is a valid JSON Schema (draft 7)',
  (_name, schema) => {
    const ajv = new Ajv({ allErrors: true });
    expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true);
    expect(ajv.validateSchema({ ...schema, type: 'nothing' })).toBe(false);
  },
);
