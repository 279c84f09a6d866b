import { z } from 'zod';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import type { AuditEntry } from '../../store/accounts/audit-log.ts';
import type { WalletRef } from '../../store/apps/wallet-settings.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { identifier } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { holdWallet, ownWallet, refuseTooLarge, WALLET, WALLET_PATH } from './own-wallet.ts';

/** `id` and `identifier` are null of a default one, which stands in no table. */
type Kept = { id: number | null; identifier: string | null; technicalName: string };
type Made = { id: number; identifier: string };
type NamedBody = z.ZodObject & z.ZodType<{ technical_name?: string | undefined }>;

type Defaults = { technicalNames: readonly string[]; mayNotChange: string; mayNotDelete: string };

/** A kind of thing in a data wallet: what is said of it, and how it is kept. */
export type WalletPart<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType> = {
  /** As messages call one, in lower case. */
  name: string;
  plural: string;
  /** Below the data wallet's path, and its parameter's name there. */
  path: string;
  param: string;
  subjectKind: AuditEntry['subjectKind'];
  /** Default ones are neither changed nor deleted, and nobody else has their technical names. */
  defaults?: Defaults;
  record: R;
  body: C;
  change: U;
  /** In the order of answers; with `address`, the one of that identifier or technical name. */
  list(db: Queryable, wallet: WalletRef, address?: string): Promise<K[]>;
  show(kept: K): z.input<R>;
  /** Null where the technical name is taken. */
  insert(tx: Queryable, wallet: WalletRef, body: z.output<C>): Promise<{ identifier: string } | null>;
  /** False where it is. */
  update(tx: Queryable, wallet: WalletRef, kept: K & Made, body: z.output<U>): Promise<boolean>;
  remove(tx: Queryable, wallet: WalletRef, kept: K & Made): Promise<void>;
};

/** List, view, create, change by PUT and PATCH, which are the same, and delete (reference: Data wallet). */
export function walletRoutes<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType>(
  part: WalletPart<K, C, U, R>,
): Route[] {
  const path = `${WALLET_PATH}/${part.path}`;
  const list = route({
    ...WALLET, method: 'GET', path, summary: `List the ${part.plural} of a data wallet`,
    params: z.object({ app_identifier: identifier }),
    result: z.array(part.record),
    async handle({ params, caller }, { db }) {
      const wallet = await ownWallet(db, caller.entityId, params.app_identifier);
      return (await part.list(db, wallet)).map(part.show);
    },
  });
  return [list, viewRoute(part, path), createRoute(part, path), changeRoute(part, path, 'PUT'), changeRoute(part, path, 'PATCH'),
    deleteRoute(part, path)];
}

function viewRoute<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType>(
  part: WalletPart<K, C, U, R>, path: string,
): Route {
  return route({
    ...WALLET, method: 'GET', path: `${path}/:${part.param}`,
    summary: `View a ${part.name} of a data wallet, by its identifier or technical name`,
    params: paramsOf(part),
    result: part.record,
    async handle({ params, caller }, { db }) {
      const wallet = await ownWallet(db, caller.entityId, params['app_identifier']!);
      return part.show(await known(part, db, wallet, params[part.param]!));
    },
  });
}

function createRoute<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType>(
  part: WalletPart<K, C, U, R>, path: string,
): Route {
  return route({
    ...WALLET, method: 'POST', path, summary: `Add a ${part.name} to a data wallet`,
    params: z.object({ app_identifier: identifier }),
    body: part.body,
    result: part.record,
    async handle({ params, body, keepReply, ...who }, { db }) {
      return write(db, async (tx) => {
        const wallet = await holdWallet(tx, who.caller.entityId, params.app_identifier);
        refuseReserved(part, body.technical_name);
        const made = await part.insert(tx, wallet, body) ?? refuseTaken(part);
        await refuseTooLarge(tx, wallet);
        await audit(tx, who, { action: 'create', subjectKind: part.subjectKind, subject: made.identifier });
        return keepReply(tx, part.show(await known(part, tx, wallet, made.identifier)));
      });
    },
  });
}

function changeRoute<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType>(
  part: WalletPart<K, C, U, R>, path: string, method: 'PUT' | 'PATCH',
): Route {
  return route({
    ...WALLET, method, path: `${path}/:${part.param}`, summary: `Change a ${part.name} of a data wallet; what is left out stays`,
    params: paramsOf(part),
    body: part.change,
    result: part.record,
    async handle({ params, body, ...who }, { db }) {
      return write(db, async (tx) => {
        const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
        const kept = await known(part, tx, wallet, params[part.param]!);
        if (!isMade(kept)) refuse(405, 'method_not_allowed', part.defaults!.mayNotChange);
        refuseReserved(part, body.technical_name);
        if (!await part.update(tx, wallet, kept, body)) refuseTaken(part);
        await refuseTooLarge(tx, wallet);
        const details = { members: Object.keys(body).join(' ') };
        await audit(tx, who, { action: 'update', subjectKind: part.subjectKind, subject: kept.identifier, details });
        return part.show(await known(part, tx, wallet, kept.identifier));
      });
    },
  });
}

function deleteRoute<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType>(
  part: WalletPart<K, C, U, R>, path: string,
): Route {
  return route({
    ...WALLET, method: 'DELETE', path: `${path}/:${part.param}`, summary: `Delete a ${part.name} of a data wallet; answers what it was`,
    params: paramsOf(part),
    result: part.record,
    async handle({ params, ...who }, { db }) {
      return write(db, async (tx) => {
        const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
        const kept = await known(part, tx, wallet, params[part.param]!);
        if (!isMade(kept)) refuse(405, 'method_not_allowed', part.defaults!.mayNotDelete);
        await part.remove(tx, wallet, kept);
        await audit(tx, who, { action: 'delete', subjectKind: part.subjectKind, subject: kept.identifier });
        return part.show(kept);
      });
    },
  });
}

function paramsOf({ param }: { param: string }): z.ZodObject<Record<string, typeof identifier>> {
  return z.object({ app_identifier: identifier, [param]: identifier });
}

async function known<K extends Kept>(
  { list, name }: { list(db: Queryable, wallet: WalletRef, address?: string): Promise<K[]>; name: string },
  db: Queryable, wallet: WalletRef, address: string,
): Promise<K> {
  return (await list(db, wallet, address))[0] ?? refuse(404, 'not_found', `${name[0]!.toUpperCase()}${name.slice(1)} not found`);
}

function isMade<K extends Kept>(kept: K): kept is K & Made {
  return kept.id !== null;
}

function refuseReserved({ defaults, name }: { defaults?: Defaults; name: string }, given: string | undefined): void {
  if (given === undefined || !defaults?.technicalNames.includes(given)) return;
  refuseField('technical_name', `is that of a default ${name}`);
}

function refuseTaken({ name }: { name: string }): never {
  return refuseField('technical_name', `is already that of another ${name} of this app`);
}
