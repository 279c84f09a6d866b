import type { FastifyRequest } from 'fastify';
import { MAX_ELEMENTS, shapeError } from '../../domain/json/json-size.ts';
import { Refusal, refuse, refuseField } from '../../domain/core/refusal.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { gather } from './bodies.ts';
import type { Circumstances, Route } from './route.ts';
import { MAX_UNVERIFIED_BYTES, verifyFields } from './verify-body.ts';

export type Form = { fields: Record<string, unknown>; file?: unknown };

/**
 * Reads a form part by part. The route's file is received as it comes; nothing of it is left where the form
 * turns out to be broken, cut off or refused.
 */
export async function readForm(
  request: FastifyRequest,
  route: Route,
  circumstances: Circumstances,
  deps: RouteDependencies,
): Promise<Form> {
  const { upload, uploadPart } = route;
  const pairs: [string, unknown][] = [];
  let fieldBytes = 0;
  let maxFieldBytes =
    route.auth === 'token' ? deps.limits.bodyBytes : Math.min(deps.limits.bodyBytes, MAX_UNVERIFIED_BYTES);
  let file: unknown;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') {
        // A part that says it is JSON has been parsed.
        const message = shapeError(part.value, { maxElements: MAX_ELEMENTS, maxNesting: deps.limits.nesting });
        if (message !== null) refuseField(part.fieldname, message);
        fieldBytes += Buffer.byteLength(typeof part.value === 'string' ? part.value : JSON.stringify(part.value));
        if (part.valueTruncated) refuseField(part.fieldname, 'is too long');
        if (fieldBytes > maxFieldBytes && maxFieldBytes < deps.limits.bodyBytes) {
          await verifyFields(route, gather(pairs), deps);
          maxFieldBytes = deps.limits.bodyBytes;
        }
        if (fieldBytes > maxFieldBytes)
          refuse(413, 'payload_too_large', 'The fields of the form are too large together');
        pairs.push([part.fieldname, part.value]);
      } else if (!upload || part.fieldname !== uploadPart || file !== undefined) {
        part.file.destroy();
        refuseField(part.fieldname, upload ? `takes no file; send one file, as \`${uploadPart}\`` : 'takes no file');
      } else {
        file = await upload.receive(part.file, gather(pairs), circumstances, deps).finally(() => part.file.destroy());
      }
    }
  } catch (error) {
    if (upload && file !== undefined) await upload.discard(file, deps).finally(() => upload.release(file));
    throw refusalOf(error);
  }
  return { fields: gather(pairs), file };
}

/** The form parser's own errors, as what the caller can do about them. */
const PARSER_REFUSALS: Record<string, Refusal> = {
  FST_MP_PREMATURE_CLOSE: new Refusal(400, 'bad_request', 'The request ended before its form did'),
  FST_PARTS_LIMIT: new Refusal(413, 'payload_too_large', 'The form has too many parts'),
  FST_FIELDS_LIMIT: new Refusal(413, 'payload_too_large', 'The form has too many parts'),
  FST_FILES_LIMIT: new Refusal(400, 'bad_request', 'The form has more than one file'),
  FST_PROTO_VIOLATION: new Refusal(400, 'bad_request', 'The form has a field of a name that is not allowed'),
  FST_INVALID_JSON_FIELD_ERROR: new Refusal(400, 'bad_request', 'The form has a field that says it is JSON and is not'),
};
/** What the parser says of a form that is no form; it has no code for it. */
const NO_FORM = /multipart|terminated early|boundary|malformed/i;

function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code !== undefined) return PARSER_REFUSALS[code] ?? error;
  return NO_FORM.test(message) ? new Refusal(400, 'bad_request', 'The form is not valid multipart/form-data') : error;
}
