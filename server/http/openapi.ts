/** Writes the OpenAPI document from the operations. */
import { z } from 'zod';
import { type Operation, takesIdempotencyKey } from '../../api/core/operation.ts';
import type { ServerSettings } from '../dependencies.ts';

type Json = Record<string, unknown>;

const SCHEMAS = '#/components/schemas/';

export function openApiDocument(
  operations: readonly Operation[],
  { publicUrl, version }: Pick<ServerSettings, 'publicUrl' | 'version'>,
): Json {
  const { paths, schemas } = described(operations);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version,
      description: INTRODUCTION.replaceAll('URL', publicUrl),
    },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: '`Token <AUTH_TOKEN>`, from a login',
        },
      },
      responses: {
        Refusal: {
          description: 'A refusal',
          content: { 'application/json': { schema: { $ref: `${SCHEMAS}Refusal` } } },
        },
      },
      schemas,
    },
  };
}

type Described = { paths: Record<string, Json>; schemas: Record<string, Json> };

/** Descriptions by list of operations: one takes 0.1 s of CPU, the same for all servers of a process. */
const kept = new WeakMap<readonly Operation[], Described>();

function described(operations: readonly Operation[]): Described {
  const known = kept.get(operations);
  if (known) return known;
  const paths: Record<string, Json> = {};
  const schemas: Record<string, Json> = { Refusal: REFUSAL };
  for (const each of operations) {
    const path = each.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [each.method.toLowerCase()]: describe(each, schemas) };
  }
  kept.set(operations, { paths, schemas });
  return { paths, schemas };
}

const INTRODUCTION = `Every call but a few needs a token in its header \`Authorization\`. Log in, make a System of Records with an
attribute, and write a value:

\`\`\`sh
curl -sS URL/api/login -H 'Content-Type: application/json' -d '{"email": "admin@millrace.local", "password": "…"}'
curl -sS URL/api/system_of_records -H 'Authorization: Token <auth_token>' -H 'Content-Type: application/json' -d '{"name": "CRM"}'
curl -sS URL/api/customer_attributes -H 'Authorization: Token <auth_token>' -H 'Content-Type: application/json' \\
  -d '{"sor_id": "<identifier>", "key": "plan", "value_type": "String"}'
curl -sS URL/api/attribute_values -H 'Content-Type: application/json' -d '{"sor": "<identifier>", "api_key": "<api_keys[0]>",
  "customer_attribute_values": [{"customer_id": "ada@example.com", "attribute_key": "plan", "attribute_value": "gold"}]}'
\`\`\`

To call operations on this page, put \`Token <auth_token>\` under **Authorize**. Answers stand in \`result\`, beside \`success\`; a refusal
says in \`error_message\` what to change. Systems of Records answer as v2, or as v3 if \`Accept\` holds \`application/vnd.svc.v3\`.
[The documentation](../manual/README.md) goes on from here.`;

const REFUSAL = {
  type: 'object',
  required: ['success', 'status', 'error_message'],
  properties: {
    success: { const: false },
    status: { type: ['string', 'integer'] },
    error_message: { type: 'string' },
    message: { type: 'string' },
    messages: {
      type: 'array',
      items: {
        type: 'object',
        properties: { element: { type: 'string' }, severity: { const: 'error' }, message: { type: 'string' } },
      },
    },
    errors: { type: 'array', items: { type: 'string' } },
  },
};

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'The same request again under the same key within 24 hours gets the first reply and has no second effect.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
};

function describe(operation: Operation, schemas: Record<string, Json>): Json {
  const { auth, body, status = 200 } = operation;
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: [operation.description, needOf(operation), auditOf(operation)].filter(Boolean).join(' '),
    tags: [operation.tag],
    security: auth === 'token' ? [{ token: [] }] : [],
    parameters: [
      ...parameters(operation.params, 'path', schemas),
      ...parameters(operation.query, 'query', schemas),
      ...(takesIdempotencyKey(operation) ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(body ? { requestBody: requestBody(operation, schemaOf(body, 'input', schemas)) } : {}),
    responses: {
      [status]: success(operation, schemas),
      ...(operation.isProbe ? { 503: { ...success(operation, schemas), description: 'Not ready' } } : {}),
      default: { $ref: '#/components/responses/Refusal' },
    },
  };
}

function needOf({ rights, rightsByType = {}, rightsByField = {}, role }: Operation): string {
  if (role === 'admin') return 'For admins of the entity.';
  if (role === 'superadmin') return 'For superadmins.';
  const byType = Object.entries(rightsByType)
    .map(([type, right]) => `, for a ${type} one ${right}`)
    .join('');
  const byField = Object.entries(rightsByField)
    .map(([field, right]) => `, with ${field} ${right}`)
    .join('');
  if (rights.length > 0) return `Needs the right ${rights.join(' and ')}${byType}${byField}.`;
  return byType || byField ? `Needs${`${byType}${byField}`.slice(1)}.` : '';
}

function auditOf({ audits, isFollowed }: Operation): string {
  if (audits.length === 0) return '';
  return `In the audit log: ${audits.join(', ')}${isFollowed ? ', once an hour for each viewer' : ''}.`;
}

function parameters(schema: z.ZodObject | undefined, place: 'path' | 'query', schemas: Record<string, Json>): Json[] {
  if (!schema) return [];
  type ObjectSchema = { properties: Record<string, Json>; required?: string[] };
  const { properties, required = [] } = schemaOf(schema, 'input', schemas) as ObjectSchema;
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
    ...(description === undefined ? {} : { description }),
  }));
}

function requestBody({ uploadPart }: Operation, schema: Json): Json {
  const forms = { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } };
  if (uploadPart === undefined) return { content: forms };
  const file = { type: 'object', properties: { [uploadPart]: { type: 'string', format: 'binary' } } };
  return { content: { 'multipart/form-data': { schema: { allOf: [schema, file] } }, ...forms } };
}

function success({ result, bare, contentType, status }: Operation, schemas: Record<string, Json>): Json {
  if (status === 204) return { description: 'Done; there is no body' };
  if (contentType) return { description: 'The file', content: { [contentType]: { schema: fileSchema(contentType) } } };
  const shown = result && schemaOf(result, 'output', schemas);
  return { description: 'Done', content: { 'application/json': { schema: bare ? shown : enveloped(shown) } } };
}

function enveloped(result: Json | undefined): Json {
  const properties = { success: { const: true }, ...(result ? { result } : {}) };
  return { type: 'object', required: Object.keys(properties), properties };
}

function fileSchema(contentType: string): Json {
  return contentType.startsWith('text/') ? { type: 'string' } : { type: 'string', format: 'binary' };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, Json>): Json {
  // Within another one, since the schema itself becomes a reference, too.
  const whole = z.toJSONSchema(z.object({ schema }), {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => dropPattern(jsonSchema),
  });
  const { properties, $defs = {} } = JSON.parse(JSON.stringify(whole).replaceAll('#/$defs/', SCHEMAS)) as {
    properties: { schema: Json };
    $defs?: Record<string, Json>;
  };
  for (const [name, { id, ...unsaid }] of Object.entries($defs)) {
    const definition = sayBytes(unsaid) as Json;
    schemas[name] ??= definition;
    if (JSON.stringify(schemas[name]) !== JSON.stringify(definition))
      throw new Error(`Two schemas have the name ${String(id)}`);
  }
  return sayBytes(properties.schema) as Json;
}

/** Drops the pattern of a time, which says the same as its format. */
function dropPattern(schema: Json): void {
  if (schema['format'] === 'date-time') delete schema['pattern'];
}

/** Adds each document's bound in bytes to its description. */
function sayBytes(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(sayBytes);
  const { maxBytes, ...members } = Object.fromEntries(
    Object.entries(schema).map(([name, member]) => [name, sayBytes(member)]),
  );
  if (typeof maxBytes !== 'number') return { ...members, ...(maxBytes === undefined ? {} : { maxBytes }) };
  const description = [members['description'], `At most ${maxBytes / 1024} KiB as JSON.`].filter(Boolean).join('. ');
  return { ...members, description, 'x-max-bytes': maxBytes };
}
