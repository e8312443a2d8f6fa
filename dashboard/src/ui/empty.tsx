/** What a panel says when it has nothing to show. */
export function Empty({ children = "No data yet" }: { children?: React.ReactNode }) {
  return (
    <div data-testid="empty" className="grid h-full min-h-24 place-items-center p-4 text-center text-dim">
      <p>{children}</p>
    </div>
  );
}
