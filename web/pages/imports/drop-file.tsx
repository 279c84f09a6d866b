import { useId, useState } from 'react';
import { bytesText } from '../../parts/values.tsx';

/** Takes a file by choice or by a drop. */
export function DropFile({ file, onChange }: { file: File | null; onChange: (file: File | null) => void }) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  return (
    <div
      className={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onChange(event.dataTransfer.files[0] ?? null);
      }}
    >
      <label htmlFor={id}>
        {file === null ? 'Drop a file here, or choose one' : `${file.name}, ${bytesText(file.size)}`}
      </label>
      <input id={id} type="file" onChange={({ target }) => onChange(target.files?.[0] ?? null)} />
    </div>
  );
}
