import { z } from 'zod';
import { requestHeadersError } from '../../domain/core/request-headers.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { secret } from '../core/contract.ts';
import { refineBy } from '../core/refine-by.ts';
import { fileSettings } from '../files/file-settings.ts';

export const httpFileSettings = z.object({
  url: z
    .string({ error: 'url must be a text' })
    .superRefine(refineBy('url', sourceUrlError))
    .describe('The address of the file, http:// or https://, as it may be shown to anyone who sees the settings'),
  url_query: secret(
    z
      .string({ error: 'url_query must be a text' })
      .regex(
        /^[^?#\s][^#\s]*$/,
        'url_query must be what stands behind the ? of an address, such as sig=abc, without spaces and #',
      )
      .max(2_000, 'url_query must have at most 2,000 characters'),
  )
    .optional()
    .describe('What is put behind the address as its query, where that holds a token or a signature'),
  request_headers: secret(
    z
      .record(z.string(), z.string(), { error: 'request_headers must be an object of texts by header names' })
      .superRefine(refineBy('request_headers', requestHeadersError)),
  )
    .default({})
    .describe('Headers of the request, by their names, such as Authorization'),
  ...fileSettings,
});

export type HttpFileSettings = z.output<typeof httpFileSettings>;
