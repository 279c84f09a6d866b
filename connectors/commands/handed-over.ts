import type { ConnectorContext } from '../core/contract.ts';

/** Passes a program's catalog from `discover` to later readings with the same context. */
export type HandedOver<T> = {
  keep(context: ConnectorContext, settings: unknown, catalog: T): void;
  find(context: ConnectorContext, settings: unknown): T | undefined;
};

/** A run first checks the fields and then reads; its program, which may be slow, is asked for them once. */
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
