/** Dependencies and limits of the HTTP server. */
import type { Logger } from 'pino';
import { MAX_NESTING } from '../api/core/input.ts';
import type { WaysOut } from '../connectors/core/contract.ts';
import type { CpuShare } from '../domain/core/cpu-share.ts';
import type { KeptFigures } from '../store/apps/app-figures.ts';
import type { Database } from '../store/core/database.ts';
import type { Files } from '../store/core/files.ts';
import type { Scratch } from '../store/core/scratch.ts';
import type { Secrets } from '../store/core/secrets.ts';
import { FILE_LIMITS } from '../store/imports/pin-file.ts';
import type { Flows } from '../temporal/flows.ts';
import type { HeavyReads } from './analytics/heavy-reads.ts';
import type { FeedIntake } from './feed/feed-intake.ts';
import type { FeedWaker } from './feed/feed-waker.ts';
import type { KeyRates } from './http/key-rates.ts';
import type { StreamedLists } from './http/streamed-lists.ts';
import type { TraceRequest } from './http/request-trace.ts';
import type { UploadBudget } from './http/upload-budget.ts';
import type { KeptFileQuota } from './imports/kept-file-quota.ts';
import type { ConnectorCalls } from './syncs/connector-calls.ts';
import type { LiveCalls } from './tracking/live-calls.ts';
import type { AdmissionLimit } from './http/admission-limit.ts';
import type { WriteKeys } from './tracking/write-keys.ts';
import type { WriteCalls } from './tracking/write-calls.ts';

/** Limits of requests; sizes in bytes. */
export type Limits = {
  bodyBytes: number;
  nesting: number;
  uploadBytes: number;
  decompressedBytes: number;
  /** Decompressed bytes received before their credentials, by all callers and by one address. */
  unverifiedBytes: number;
  unverifiedBytesPerAddress: number;
  unverifiedMs: number;
  waitingRequests: number;
  waitingBytes: number;
  /** Decompressed bytes of import files that are kept for a SoR, and for an entity. */
  keptBytesPerSor: number;
  keptBytesPerEntity: number;
  /** Bytes of SDK calls that wait for a transaction. */
  trackingBytes: number;
  headersMs: number;
  checkMs: number;
  discoverMs: number;
  idleBodyMs: number;
  /** Time in which a reader must take something of a streamed answer. */
  readerMs: number;
  listWaitMs: number;
  /** Maximum of open connections, in all and from one address (not behind a proxy). */
  connections: number;
  connectionsPerAddress: number;
};

const MIB = 1024 ** 2;

export const LIMITS: Limits = {
  bodyBytes: 10 * MIB,
  nesting: MAX_NESTING,
  ...FILE_LIMITS,
  unverifiedBytes: 256 * MIB,
  unverifiedBytesPerAddress: 64 * MIB,
  unverifiedMs: 120_000,
  waitingRequests: 20_000,
  waitingBytes: 256 * MIB,
  keptBytesPerSor: 50 * 1024 * MIB,
  keptBytesPerEntity: 200 * 1024 * MIB,
  trackingBytes: 32 * MIB,
  headersMs: 10_000,
  checkMs: 30_000,
  discoverMs: 60_000,
  idleBodyMs: 60_000,
  readerMs: 240_000,
  listWaitMs: 20_000,
  connections: 10_000,
  connectionsPerAddress: 2_500,
};

export type ServerSettings = {
  publicUrl: string;
  /** Address of the workflows in Temporal's UI, without a slash at its end. */
  temporalUi?: string | undefined;
  tokenTtlDays: number;
  /** Requests per minute of one token, or of one address; 0 for no limit. */
  rateLimitPerMinute: number;
  /** Requests per minute of SDKs under one key; 0 for no limit. */
  ingestLimitPerMinute: number;
  /** Proxies whose word about a caller's address counts (Fastify's `trustProxy`). */
  trustProxy?: boolean | string | undefined;
  version: string;
  /** Token that metrics require as `Authorization: Bearer …`; without one they are open. */
  metricsToken?: string | undefined;
  /** Serves metrics only at their own address. */
  hasMetricsElsewhere?: boolean;
  limits?: Partial<Limits>;
};

export type ObservedRequest = { method: string; route: string; status: number; seconds: number };

/** Part of the service; `required`: without it this server takes no requests. */
export type Readiness = { name: string; ready: boolean; required: boolean; reason?: string; version?: string };

/** Builds of the console. */
export type ConsoleFiles = {
  /** Folders of builds, the current one first; none while it is built, or if that failed (`problem`). */
  built(): { folders: readonly string[]; problem: string | null };
  whenBuilt(): Promise<void>;
};

export type ServerDependencies = {
  db: Database;
  files: Files;
  secrets: Secrets;
  log: Logger;
  metrics: {
    observeRequest(request: ObservedRequest): void;
    countInternalError(labels: { kind: string; step: string }): void;
    countCalls(outcome: 'accepted' | 'duplicate' | 'refused', calls: number): void;
    text(): Promise<string>;
    contentType: string;
  };
  traceRequest?: TraceRequest | undefined;
  /** Starts the work of recorded requests. The sweep repeats a failed start. */
  flows: Flows;
  outside: WaysOut;
  /** Shared with the workers of this process. */
  cpuShare: CpuShare;
  scratch: Pick<Scratch, 'folderOf'>;
  ready(): Promise<Readiness[]>;
  /** Absent: this server has no console. */
  console?: ConsoleFiles;
  settings: ServerSettings;
};

export type RouteDependencies = ServerDependencies & {
  limits: Limits;
  unverified: UploadBudget;
  feedIntake: FeedIntake;
  feedAdmission: AdmissionLimit;
  feedWaker: FeedWaker;
  keptFiles: KeptFileQuota;
  connectorCalls: ConnectorCalls;
  writeKeys: WriteKeys;
  writeCalls: WriteCalls;
  liveCalls: LiveCalls;
  keyRates: KeyRates;
  /** Fetched pictures, by entity. */
  pictureRates: KeyRates;
  trackingAdmission: AdmissionLimit;
  figures: KeptFigures;
  heavyReads: HeavyReads;
  streamedLists: StreamedLists;
};
