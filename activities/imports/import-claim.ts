/** The input of an import's workflow, as its histories have it. */
export type ImportRef = { entityId: number; importId: number; identifier: string };

/** An import as one workflow run holds it: a step of an older generation ends without effect. */
export type ImportClaim = ImportRef & { generation: number; toFetch: boolean };
