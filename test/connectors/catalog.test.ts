import { expect, it } from 'vitest';
import type { z } from 'zod';
import { connectors } from '../../connectors/catalog.ts';

it('every connector has a name of its own, and says what its settings are', () => {
  const names = connectors.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, settings, source, destination } of connectors) {
    expect(name).toMatch(/^[a-z\d-]+$/);
    expect(source ?? destination).toBeDefined();
    const members = Object.entries((settings as unknown as z.ZodObject).shape as Record<string, z.ZodType>);
    expect(members.filter(([, member]) => !member.description).map(([member]) => `${name}.${member}`)).toEqual([]);
  }
});
