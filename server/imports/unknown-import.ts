import { refuse } from '../../domain/core/refusal.ts';

/** Who asks for an import by what a feed answered is told where to ask instead. */
export function refuseUnknownImport(id: string): never {
  const hint = id.startsWith('req_')
    ? ': this is a request of the JSON feed, see /api/attribute_values/feeds/<requestId>'
    : '';
  return refuse(404, 'not_found', `Import not found${hint}`);
}
