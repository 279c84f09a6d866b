import type { ConnectorContext } from '../core/contract.ts';

/** What a program told of its streams, handed from `discover` to the readings that follow with the same context. */
export type HandedOver<T> = {
  keep(context: ConnectorContext, settings: unknown, catalog: T): void;
  find(context: ConnectorContext, settings: unknown): T | undefined;
};

/** A run looks at the fields and then reads: its program, which may take long to tell them, is asked once. */
export function handedOver<T>(): HandedOver<T> {
  const kept = new WeakMap<ConnectorContext, { settings: unknown; catalog: T }>();
  return {
    keep: (context, settings, catalog) => void kept.set(context, { settings, catalog }),
    find(context, settings) {
      const found = kept.get(context);
      return found?.settings === settings ? found?.catalog : undefined;
    },
  };
}
