import type { Operation } from '../../api/core/operation.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Caller } from './caller.ts';

/** Refuses a caller without the right that the operation needs for objects of this type. */
export function requireRightOfType(
  { rightsByType = {} }: Pick<Operation, 'rightsByType'>,
  { rights }: Caller,
  type: string,
): void {
  const right = rightsByType[type];
  if (right !== undefined && !rights.has(right))
    refuse(403, 'forbidden', `This needs the right ${right}: the type is ${type}`);
}

/** Refuses a caller without the right that the operation needs for objects with this field. */
export function requireRightOfField(
  { rightsByField = {} }: Pick<Operation, 'rightsByField'>,
  { rights }: Caller,
  field: string,
): void {
  const right = rightsByField[field];
  if (right !== undefined && !rights.has(right))
    refuse(403, 'forbidden', `This needs the right ${right}: it has ${field}`);
}
