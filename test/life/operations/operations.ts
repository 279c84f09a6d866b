import type { Operation } from '../../../api/core/operation.ts';
import { routes } from '../../../server/routes.ts';
import { list, type LifeOperation, type LifeOperations } from '../life-operation.ts';
import { accountOperations } from './accounts.ts';
import { analyticsOperations } from './analytics.ts';
import { appOperations } from './apps.ts';
import { attributeOperations } from './attributes.ts';
import { exportOperations } from './exports.ts';
import { fileOperations } from './files.ts';
import { gdprOperations } from './gdpr.ts';
import { sendOperations } from './sends.ts';
import { syncOperations } from './syncs.ts';
import { trackingOperations } from './tracking.ts';
import { wayInOperations } from './ways-in.ts';

/** How a walk calls operations that a list without parameters does not do for, by their ids. */
const described: LifeOperations = {
  ...accountOperations,
  ...attributeOperations,
  ...wayInOperations,
  ...syncOperations,
  ...appOperations,
  ...trackingOperations,
  ...analyticsOperations,
  ...fileOperations,
  ...exportOperations,
  ...gdprOperations,
  ...sendOperations,
};

/** The contract's own list. */
export const contract: ReadonlyMap<string, Operation> = new Map(
  routes.map((route) => [route.id, route as unknown as Operation]),
);

/** How a walk calls each operation of the contract, by its id. One without an entry fails `operations.test.ts`. */
export const lifeOperations: LifeOperations = { ...readWithoutInput(), ...described };

/** Every read that asks for nothing has to succeed. */
function readWithoutInput(): Record<string, LifeOperation> {
  const reads = [...contract.values()].filter(
    ({ method, path, query, auth }) =>
      method === 'GET' &&
      !path.includes(':') &&
      auth !== 'sor_key' &&
      auth !== 'app_key' &&
      (query?.safeParse({}).success ?? true),
  );
  return Object.fromEntries(reads.map(({ id }) => [id, list()]));
}
