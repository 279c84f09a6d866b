/** Quota of the import files that the service keeps. */
import { type KeptFiles, type KeptLimits, refuseBeyond } from '../../domain/imports/kept-files.ts';
import type { Queryable, Tx } from '../../store/core/database.ts';
import { lockKeptFiles, sumKeptFiles } from '../../store/imports/kept-files.ts';

type Sor = { id: number; entityId: number };

/** Counts what one upload stores, until its import is inserted or it is dropped. */
export type UploadMeter = { take(bytes: number): void; release(): void };

/** Bounds kept files of a SoR and an entity: those of imports, and uploads under way in this process. */
export class KeptFileQuota {
  readonly #db: Queryable;
  readonly #limits: KeptLimits;
  /** Bytes of running uploads, by `sor/<id>` and `entity/<id>`. */
  readonly #underWay = new Map<string, number>();

  constructor(db: Queryable, limits: KeptLimits) {
    this.#db = db;
    this.#limits = limits;
  }

  /** Refuses `more` bytes beyond a limit. Until the transaction ends no other server adds a file of the entity. */
  async lock(tx: Tx, sor: Sor, more: number): Promise<void> {
    this.#refuse(await lockKeptFiles(tx, sor.entityId, sor.id), sor, more);
  }

  async meter(sor: Sor): Promise<UploadMeter> {
    const kept = await sumKeptFiles(this.#db, sor.entityId, sor.id);
    this.#refuse(kept, sor, 1);
    let taken = 0;
    const take = (bytes: number) => {
      this.#refuse(kept, sor, bytes);
      taken += bytes;
      this.#add(sor, bytes);
    };
    const release = () => {
      this.#add(sor, -taken);
      taken = 0;
    };
    return { take, release };
  }

  #refuse({ ofSor, ofEntity }: KeptFiles, sor: Sor, more: number): void {
    const [sorKey, entityKey] = keysOf(sor);
    refuseBeyond(
      {
        ofSor: { ...ofSor, underWay: this.#underWay.get(sorKey) ?? 0 },
        ofEntity: { ...ofEntity, underWay: this.#underWay.get(entityKey) ?? 0 },
      },
      this.#limits,
      more,
      new Date(),
    );
  }

  #add(sor: Sor, bytes: number): void {
    for (const key of keysOf(sor)) {
      const after = (this.#underWay.get(key) ?? 0) + bytes;
      if (after > 0) this.#underWay.set(key, after);
      else this.#underWay.delete(key);
    }
  }
}

function keysOf({ id, entityId }: Sor): [sor: string, entity: string] {
  return [`sor/${id}`, `entity/${entityId}`];
}
