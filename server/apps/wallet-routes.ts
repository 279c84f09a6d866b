/** Routes that all parts of a data wallet share: list, view, create, change, delete. */

import type { z } from 'zod';
import type * as api from '../../api/apps/data-wallet.ts';
import type { Nothing } from '../../api/core/operation.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { findWalletBytes, type WalletRef } from '../../store/apps/wallet-settings.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { streamedList } from '../http/reply.ts';
import { type Handle, type Route, route } from '../http/route.ts';
import { holdWallet, ownWallet } from './own-wallet.ts';

/** A stored object; `id` and `identifier` are null for a default one, which is in no table. */
type Kept = { id: number | null; identifier: string | null; technicalName: string };
type Made = { id: number; identifier: string };
type NamedBody = z.ZodObject & z.ZodType<{ technical_name?: string | undefined }>;

type Defaults = { technicalNames: readonly string[]; mayNotChange: string; mayNotDelete: string };

/** How one kind of object is stored. */
type WalletPart<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType> = {
  /** Default objects can't be changed or deleted, and their technical names are reserved. */
  defaults?: Defaults;
  /** In order of responses; with `address` the one with that identifier or technical name. */
  list(db: Queryable, wallet: WalletRef, address?: string): Promise<K[]>;
  show(kept: K): z.input<R>;
  /** Null if the technical name is taken. */
  insert(tx: Queryable, wallet: WalletRef, body: z.output<C>): Promise<{ identifier: string } | null>;
  /** False if the technical name is taken. */
  update(tx: Queryable, wallet: WalletRef, kept: K & Made, body: z.output<U>): Promise<boolean>;
  remove(tx: Queryable, wallet: WalletRef, kept: K & Made): Promise<void>;
};

/** Returns the routes list, view, create, change (PUT and PATCH are the same) and delete. */
export function walletRoutes<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType>(
  operations: api.WalletOperations<C, U, R>,
  kept: WalletPart<K, C, U, R>,
): Route[] {
  const part = { ...kept, name: operations.name };
  const addressOf = (params: Record<string, string>) => params[operations.param]!;
  const change: Handle<api.OneParams, Nothing, U, R, 'token'> = async ({ params, body, ...who }, { db }) =>
    write(db, async (tx) => {
      const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
      const kept = await known(part, tx, wallet, addressOf(params));
      if (!isMade(kept)) refuse(405, 'method_not_allowed', part.defaults!.mayNotChange);
      refuseReserved(part, body.technical_name);
      if (!(await part.update(tx, wallet, kept, body))) refuseTaken(part);
      await refuseTooLarge(tx, wallet);
      const details = { members: Object.keys(body).join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: operations.kind, subject: kept.identifier, details });
      return part.show(await known(part, tx, wallet, kept.identifier));
    });
  return [
    route(operations.list, async ({ params, ...who }, { db, streamedLists }) => {
      const wallet = await ownWallet(db, who.caller.entityId, params['app_identifier']!);
      return streamedList(
        streamedLists.shown(
          who,
          inOnePiece(() => part.list(db, wallet)),
          (all) => all.map(part.show),
        ),
      );
    }),
    route(operations.view, async ({ params, caller }, { db }) => {
      const wallet = await ownWallet(db, caller.entityId, params['app_identifier']!);
      return part.show(await known(part, db, wallet, addressOf(params)));
    }),
    route(operations.create, async ({ params, body, keepReply, ...who }, { db }) =>
      write(db, async (tx) => {
        const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
        refuseReserved(part, body.technical_name);
        const made = (await part.insert(tx, wallet, body)) ?? refuseTaken(part);
        await refuseTooLarge(tx, wallet);
        await audit(tx, who, { action: 'create', subjectKind: operations.kind, subject: made.identifier });
        return keepReply(tx, part.show(await known(part, tx, wallet, made.identifier)));
      }),
    ),
    route(operations.update, change),
    route(operations.patch, change),
    route(operations.delete, async ({ params, ...who }, { db }) =>
      write(db, async (tx) => {
        const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
        const kept = await known(part, tx, wallet, addressOf(params));
        if (!isMade(kept)) refuse(405, 'method_not_allowed', part.defaults!.mayNotDelete);
        await part.remove(tx, wallet, kept);
        await audit(tx, who, { action: 'delete', subjectKind: operations.kind, subject: kept.identifier });
        return part.show(kept);
      }),
    ),
  ];
}

/** Yields a list in one piece: a wallet has a size limit of its own, and slots bound how many lists are in memory. */
async function* inOnePiece<T>(list: () => Promise<T>): AsyncGenerator<T> {
  yield await list();
}

async function known<K extends Kept>(
  { list, name }: { list(db: Queryable, wallet: WalletRef, address?: string): Promise<K[]>; name: string },
  db: Queryable,
  wallet: WalletRef,
  address: string,
): Promise<K> {
  return (
    (await list(db, wallet, address))[0] ??
    refuse(404, 'not_found', `${name[0]!.toUpperCase()}${name.slice(1)} not found`)
  );
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

/** Maximum size of a list, which is sent as a whole. */
const MAX_MIB = 20;

/** Refuses a change after which a list would be too large to send. Call it in the transaction of the change. */
async function refuseTooLarge(tx: Queryable, { entityId, appId }: WalletRef): Promise<void> {
  if ((await findWalletBytes(tx, entityId, appId)) <= MAX_MIB * 1024 ** 2) return;
  refuse(
    400,
    'bad_request',
    `The data wallet would be too large: with the titles of what its elements belong to, its texts have ` +
      `at most ${MAX_MIB} MiB. Shorten some, or delete what is not used`,
  );
}
