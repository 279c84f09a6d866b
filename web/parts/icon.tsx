/** Lines of the icons, in a box of 16 by 16. */
const PATHS = {
  home: 'M2.5 7 8 2.5 13.5 7v6.5h-4v-4h-3v4h-4z',
  import: 'M8 2v7.5m-3-3 3 3 3-3M2.5 11v2.5h11V11',
  sync: 'M13 6.5A5.2 5.2 0 0 0 3.4 5M3 2.5V5h2.5M3 9.5a5.2 5.2 0 0 0 9.6 1.5m.4 2.5V11h-2.5',
  plug: 'M6 2v3.5M10 2v3.5M4 5.5h8v2a4 4 0 0 1-8 0zM8 11.5V14',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
  person: 'M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8zM2.75 14a5.25 5.25 0 0 1 10.5 0',
  people:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5a4.5 4.5 0 0 1 9 0M11 2.8a2.5 2.5 0 0 1 0 4.4M12.2 9.6a4.5 4.5 0 0 1 2.3 3.9',
  app: 'M4.5 1.5h7a1 1 0 0 1 1 1v11a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-11a1 1 0 0 1 1-1zM7 12h2',
  pulse: 'M1.5 8h3l2-5 3 10 2-5h3',
  crash: 'M8 2 14.5 13.5h-13zM8 6.5v3M8 11.6v.01',
  funnel: 'M2 3h12l-4.5 5.5V13L6.5 14V8.5z',
  send: 'M14 2 7 9M14 2 9.5 14 7 9 2 6.5z',
  megaphone: 'M2.5 6.5v3h2L11 13V3L4.5 6.5zM13.5 6.5v3M5 9.5 6 13.5',
  export: 'M8 9.5V2m-3 3 3-3 3 3M2.5 11v2.5h11V11',
  lock: 'M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  map: 'M2 4l4-1.5 4 1.5 4-1.5V12l-4 1.5L6 12l-4 1.5zM6 2.5V12M10 4v9.5',
  key: 'M9.5 6.5a3 3 0 1 1-1.1-2.3M8.5 7.5 13.5 2.5M11 5l1.5 1.5',
  gear:
    'M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4' +
    'M11.2 11.2l1.4 1.4M3.4 12.6l1.4-1.4M11.2 4.8l1.4-1.4',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3 14 14',
  down: 'M3.5 6 8 10.5 12.5 6',
  up: 'M3.5 10 8 5.5 12.5 10',
  check: 'M3 8.5 6.5 12 13 4.5',
  close: 'M4 4l8 8M12 4l-8 8',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.5',
  branch: 'M3 4h6v8m-3-3 3 3 3-3',
  globe: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c4 4 4 8 0 12M8 2c-4 4-4 8 0 12',
  file: 'M4 1.5h5.5L12.5 4.5v10h-8.5zM9.5 1.5v3h3',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  plus: 'M8 3v10M3 8h10',
  terminal: 'M2.5 4l4 4-4 4M8 12.5h5.5',
  box: 'M2.5 5 8 2l5.5 3v6L8 14l-5.5-3zM2.5 5 8 8l5.5-3M8 8v6',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  flask: 'M6 2h4M7 2v4.5L3 13.5h10L9 6.5V2',
} as const;

export type IconName = keyof typeof PATHS;

/** Shows an icon beside its word; with `label`, alone. */
export function Icon({ name, label }: { name: IconName; label?: string }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 16 16"
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
