/** Returns whether this browser keeps whole numbers beyond 2^53 exact, as the client needs it. */
export function hasExactNumbers(): boolean {
  return 'rawJSON' in JSON;
}

export function OldBrowser() {
  return (
    <main className="login">
      <section className="panel">
        <div className="body">
          <h1>This browser rounds large numbers</h1>
          <p className="second">
            The console shows each number as it is. Chrome and Edge do so from version 114, Firefox from 135, Safari
            from 18.4.
          </p>
        </div>
      </section>
    </main>
  );
}
