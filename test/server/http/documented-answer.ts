import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { z } from 'zod';
import type { ServerSettings } from '../../../server/dependencies.ts';
import { openApiDocument } from '../../../server/http/openapi.ts';
import type { Route } from '../../../server/http/route.ts';
import { routes } from '../../../server/routes.ts';
import { nameOf } from './samples.ts';

type Responses = Record<string, { content?: Record<string, { schema: object }> }>;
type Document = { components: object; paths: Record<string, Record<string, { responses: Responses }>> };

// Of the other formats the patterns that zod writes beside them say the same.
const ajv = new Ajv2020({
  strict: false,
  logger: false,
  allErrors: true,
  formats: { 'date-time': (text: string) => z.iso.datetime().safeParse(text).success },
});
const validators = new Map<string, ValidateFunction>();

const SETTINGS = { publicUrl: 'https://millrace.example', version: '1' } as ServerSettings;

let document: Document | undefined;

/** What is wrong with the body of a route's answer by the API document; empty where nothing is. */
export function documentedFaults(route: Route, body: unknown): string[] {
  const validate = validators.get(nameOf(route)) ?? ajv.compile(schemaOf(route));
  validators.set(nameOf(route), validate);
  validate(body);
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

function schemaOf(route: Route): object {
  document ??= openApiDocument(routes, SETTINGS) as Document;
  const { components } = document;
  const operation = document.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]![route.method.toLowerCase()]!;
  return { ...operation.responses[200]!.content!['application/json']!.schema, components };
}
