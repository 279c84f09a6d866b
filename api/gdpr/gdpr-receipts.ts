import { z } from 'zod';
import { receiptSchema } from '../../domain/gdpr/gdpr-receipt.ts';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { ofOne } from './gdpr.ts';

export const GdprReceipt = receiptSchema.meta({ id: 'GdprReceipt' });

/** What was shown or erased, signed; kept for ever (docs/gdpr.md). */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage', method: 'GET' } as const;
const PATH = '/api/gdpr/receipts';

export const listGdprReceipts = operation({
  id: 'listGdprReceipts',
  ...SHARED,
  path: '/api/gdpr/requests/:request_id/receipt',
  summary: 'Get the signed receipts of a request, also after the request is deleted',
  description: 'One a round: people on hold are treated later than the others. `millrace verify` tells whether they are as they were '
    + 'signed.',
  audits: 'read gdpr_receipt',
  params: z.object({ request_id: identifier }),
  result: z.object({ receipts: z.array(GdprReceipt) }),
});

export const listReceiptsOfPerson = operation({
  id: 'listReceiptsOfPerson',
  ...SHARED,
  path: PATH,
  summary: 'List the signed receipts of a person, newest first',
  description: 'By one of the person\'s ids. Receipts hold no ids: they are found by a keyed hash.',
  audits: 'read gdpr_receipt',
  query: z.object({ ...pageQuery, ...ofOne, user_id: ofOne.user_id.describe('Needed, or device_id') }),
  result: pageOf(GdprReceipt),
});

export const downloadArchive = operation({
  id: 'downloadArchive',
  method: 'GET',
  path: '/api/gdpr/downloads/:request_id/:ordinal/:signature',
  summary: 'Download the archive of a person',
  description: 'The target of the links in download_urls and in mails: it needs no token. It works until the request is '
    + 'discarded, or the person is deleted.',
  audits: 'read gdpr_request',
  tag: 'GDPR',
  auth: 'none',
  params: z.object({ request_id: identifier, ordinal: identifier, signature: identifier }),
  contentType: 'application/zip',
});
