import { z } from 'zod';
import type { ServerSettings } from '../dependencies.ts';
import { takesIdempotencyKey } from './idempotency.ts';
import type { Route } from './route.ts';

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of these routes, from the very schemas that check them. */
export function openApiDocument(routes: readonly Route[], { publicUrl, version }: ServerSettings): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace', version,
      description: 'Systems of Records answer as v2, or as v3 where `Accept` holds `application/vnd.svc.v3`.',
    },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'apiKey', in: 'header', name: 'Authorization', description: '`Token <AUTH_TOKEN>`, from a login',
        },
      },
      responses: {
        Refusal: { description: 'A refusal', content: { 'application/json': { schema: REFUSAL } } },
      },
    },
  };
}

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
  name: 'Idempotency-Key', in: 'header', required: false,
  description: 'The same request again under the same key within 24 hours gets the first reply and has no second effect.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
};

function operation(route: Route): Json {
  const { auth, body } = route;
  return {
    summary: route.summary,
    description: [route.description, needOf(route)].filter(Boolean).join(' '),
    tags: [route.tag],
    security: auth === 'token' ? [{ token: [] }] : [],
    parameters: [
      ...parameters(route.params, 'path'), ...parameters(route.query, 'query'),
      ...(takesIdempotencyKey(route) ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(body ? { requestBody: requestBody(route, schemaOf(body, 'input')) } : {}),
    responses: { [route.status ?? 200]: success(route), default: { $ref: '#/components/responses/Refusal' } },
  };
}

function needOf({ rights, role }: Route): string {
  if (role === 'admin') return 'For admins of the entity.';
  if (role === 'superadmin') return 'For superadmins.';
  return rights.length > 0 ? `Needs the right ${rights.join(' and ')}.` : '';
}

function parameters(schema: z.ZodObject | undefined, place: 'path' | 'query'): Json[] {
  if (!schema) return [];
  type ObjectSchema = { properties: Record<string, Json>; required?: string[] };
  const { properties, required = [] } = schemaOf(schema, 'input') as ObjectSchema;
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name, in: place, required: place === 'path' || required.includes(name), schema: property,
    ...(description === undefined ? {} : { description }),
  }));
}

function requestBody({ upload }: Route, schema: Json): Json {
  const forms = { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } };
  if (!upload) return { content: forms };
  const file = { type: 'string', format: 'binary' };
  const withFile = { ...schema, properties: { ...(schema['properties'] as Json), [upload.part]: file } };
  return { content: { 'multipart/form-data': { schema: withFile }, ...forms } };
}

function success({ result, bare, contentType, status }: Route): Json {
  if (status === 204) return { description: 'Done; there is no body' };
  if (contentType) return { description: 'The file', content: { [contentType]: { schema: fileSchema(contentType) } } };
  const shown = result && schemaOf(result, 'output');
  return { description: 'Done', content: { 'application/json': { schema: bare ? shown : enveloped(shown) } } };
}

function enveloped(result: Json | undefined): Json {
  const properties = { success: { const: true }, ...(result ? { result } : {}) };
  return { type: 'object', required: Object.keys(properties), properties };
}

function fileSchema(contentType: string): Json {
  return contentType.startsWith('text/') ? { type: 'string' } : { type: 'string', format: 'binary' };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const json: Json = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  delete json['$schema'];         // the document says it for all
  return json;
}
