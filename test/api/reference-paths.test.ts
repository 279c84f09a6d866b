import { expect, test } from 'vitest';
import { openApiDocument } from '../../server/http/openapi.ts';
import { routes } from '../../server/routes.ts';
import { sections } from '../reference/sections.ts';

test('the API document has every method and path of the reference', () => {
  const { paths } = openApiDocument(routes, { publicUrl: 'https://millrace.example', version: '1' }) as {
    paths: Record<string, object>;
  };
  const described = new Set(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{[^}]+\}/g, '<>')}`),
    ),
  );
  const named = sections.flatMap((section) => section.paths);
  expect(named.filter((line) => !described.has(line.replaceAll(/<[^>]+>/g, '<>')))).toEqual([]);
  expect(named).toHaveLength(new Set(named).size);
});
