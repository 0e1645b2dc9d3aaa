import { type ReactNode, useState } from "react";

import { Button } from "../Button";
import { Card } from "../Card";

/** A chart in a card: the title names the unit, and "View as table" shows the same numbers as text. */
export function Chart({
  title,
  aside,
  head,
  rows,
  children,
}: {
  title: string;
  aside?: ReactNode;
  /** The columns of the table, and its rows. */
  head: string[];
  rows: () => (string | number)[][];
  children: ReactNode;
}) {
  const [table, setTable] = useState(false);
  return (
    <Card
      title={title}
      aside={
        <>
          {aside}
          <Button size="small" kind="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
            {table ? "View as chart" : "View as table"}
          </Button>
        </>
      }
    >
      {table ? (
        <div tabIndex={0} className="max-h-72 overflow-auto">
          <table className="w-full text-left">
            <thead className="text-xs text-muted">
              <tr>
                {head.map((name, index) => (
                  <th key={name} className={index ? "px-2 py-1 text-right font-medium" : "px-2 py-1 font-medium"}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows().map((row, index) => (
                <tr key={index} className="border-t">
                  {row.map((cell, column) => (
                    <td key={column} className={column ? "px-2 py-1 text-right" : "px-2 py-1"}>
                      {cell}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        children
      )}
    </Card>
  );
}
