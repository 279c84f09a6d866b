import { page } from '../page.ts';

export const exportPages = [
  page({
    path: '/exports',
    title: 'Exports',
    question: 'Does each exporter run, and what is missing?',
    needs: ['listDataExporters'],
    menu: { group: 'Data out', icon: 'export' },
    key: 'e',
    load: () => import('./exporters.tsx').then(({ Exporters }) => Exporters),
  }),
  page({
    path: '/exports/$id',
    title: 'Exporter',
    question: 'Is each day there, whole?',
    needs: ['viewDataExporter', 'reconcileExports'],
    idPrefix: 'exp_',
    load: () => import('./exporter.tsx').then(({ Exporter }) => Exporter),
  }),
  page({
    path: '/export-runs/$run',
    title: 'Run of an exporter',
    question: 'Is its window there, whole?',
    needs: ['findExportRun'],
    idPrefix: 'run_',
    load: () => import('./find-run.tsx').then(({ FindExportRun }) => FindExportRun),
  }),
];
