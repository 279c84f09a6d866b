/** Health of the service: for probes, for monitoring, and for those who run it. */
import { z } from 'zod';
import { operation } from '../core/operation.ts';

const part = {
  name: z.string().describe('postgres, migrations, files, temporal, or worker of a queue'),
  ready: z.boolean(),
  required: z.boolean().describe('False: the server takes requests without it, and their work waits'),
};

/** A part of the service as `/health/ready` shows it. */
export const HealthPart = z
  .object({ ...part, reason: z.string().optional().describe('Why it is not ready') })
  .meta({ id: 'HealthPart' });
export type HealthPart = z.output<typeof HealthPart>;

const SHARED = { tag: 'Health', method: 'GET' } as const;
const PROBE = { ...SHARED, auth: 'none', bare: true, isProbe: true } as const;

export const checkLiveness = operation({
  id: 'checkLiveness',
  ...PROBE,
  path: '/health/live',
  summary: 'Check that the process answers',
  result: z.object({ live: z.literal(true), version: z.string().describe('Version of Millrace') }),
});

export const checkReadiness = operation({
  id: 'checkReadiness',
  ...PROBE,
  path: '/health/ready',
  summary: 'Check that the server can take requests',
  description: 'The server keeps the answer for a second.',
  query: z.object({
    parts: z
      .literal('all', 'must be all, or be left out')
      .optional()
      .describe('all: ready is false if any part is not ready, also one that is not required'),
  }),
  result: z.object({ ready: z.boolean(), parts: z.array(HealthPart) }),
});

export const System = z
  .object({
    version: z.string().describe('Version of Millrace'),
    ready: z.boolean().describe('True: all parts are ready'),
    parts: z.array(
      z
        .object({
          ...part,
          reason: z.string().nullable().describe('Why it is not ready'),
          version: z.string().nullable().describe('Version of Postgres and of Temporal; null for other parts'),
        })
        .meta({ id: 'SystemPart' }),
    ),
  })
  .meta({ id: 'System' });
export type System = z.output<typeof System>;

export const viewSystem = operation({
  id: 'viewSystem',
  ...SHARED,
  path: '/api/system',
  summary: 'View the parts of the service, whether each is ready, and their versions',
  role: 'superadmin',
  result: System,
});
