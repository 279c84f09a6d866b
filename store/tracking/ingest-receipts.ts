import { receiptOf } from '../../domain/sends/receipt.ts';
import type { Tx } from '../core/database.ts';
import { type Receipt, updateReceipts } from '../sends/receipts.ts';
import { type IngestedCall, timestamp } from './ingested-call.ts';

/** Notes what calls tell of messages that their own device got. */
export async function ingestReceipts(tx: Tx, entityId: number, calls: readonly IngestedCall[]): Promise<void> {
  const receipts = calls.flatMap(({ appId, deviceId, event, happenedAt }): Receipt[] => {
    const receipt = event === null || deviceId === null ? null : receiptOf(event.name, event.detail);
    return receipt === null ? [] : [{ ...receipt, appId, deviceId: deviceId!, at: timestamp(happenedAt) }];
  });
  await updateReceipts(tx, entityId, receipts);
}
