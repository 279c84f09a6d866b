import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectors } from '../../connectors/catalog.ts';

describe.for(connectors)('the connector $name', ({ name, settings, source, destination, alerts }) => {
  it('has a name of its own that fits into an address', () => {
    expect(name).toMatch(/^[a-z\d]+(?:-[a-z\d]+)*$/);
    expect(connectors.filter((other) => other.name === name)).toHaveLength(1);
  });

  it('reads, writes, or takes alerts', () => {
    expect(source ?? destination ?? alerts).toBeDefined();
  });

  it('describes each of its settings', () => {
    const { properties } = z.toJSONSchema(settings, { io: 'input' }) as {
      properties: Record<string, { description?: string }>;
    };
    expect(
      Object.entries(properties)
        .filter(([, { description }]) => !description)
        .map(([member]) => member),
    ).toEqual([]);
  });
});
