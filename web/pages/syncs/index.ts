import { page } from '../page.ts';

export const syncPages = [
  page({
    path: '/syncs',
    title: 'Syncs',
    question: 'On time? What changed?',
    needs: ['listSyncs'],
    menu: { group: 'Data in', icon: 'sync' },
    key: 's',
    load: () => import('./syncs.tsx').then(({ Syncs }) => Syncs),
  }),
  page({
    path: '/syncs/$id',
    title: 'Sync',
    question: 'On time? What changed?',
    needs: ['viewSync', 'listSyncRuns'],
    idPrefix: 'syn_',
    load: () => import('./sync.tsx').then(({ SyncPage }) => SyncPage),
  }),
  page({
    path: '/syncs/$id/runs/$run',
    title: 'Run of a sync',
    question: 'Which records failed?',
    needs: ['viewSync', 'viewSyncRun'],
    load: () => import('./run.tsx').then(({ RunPage }) => RunPage),
  }),
  page({
    path: '/connections',
    title: 'Connections',
    question: 'Does it work?',
    needs: ['listConnections', 'listConnectors'],
    menu: { group: 'Data in', icon: 'plug' },
    key: 'c',
    load: () => import('./connections.tsx').then(({ Connections }) => Connections),
  }),
  page({
    path: '/connections/new',
    title: 'New connection',
    question: 'Which outside system?',
    needs: ['listConnectors', 'createConnection'],
    load: () => import('./new-connection.tsx').then(({ NewConnection }) => NewConnection),
  }),
  page({
    path: '/connections/$id',
    title: 'Connection',
    question: 'Does it work?',
    needs: ['viewConnection', 'listConnectors'],
    idPrefix: 'con_',
    load: () => import('./connection.tsx').then(({ ConnectionPage }) => ConnectionPage),
  }),
];
