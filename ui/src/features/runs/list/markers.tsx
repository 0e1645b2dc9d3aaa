import { fill, lookOf, type Tone } from "@/parts/state/states";

import { type Shape, shapeOf } from "./points";

interface Path {
  d: string;
  solid: boolean;
}

/** The path of each shape around (0, 0), with the visual size of a circle of radius `r`. */
function pathOf(shape: Shape, r: number): Path {
  const circle = `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  switch (shape) {
    case "dot":
      return { d: circle, solid: true };
    case "ring":
      return { d: circle, solid: false };
    case "cross":
      return { d: `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`, solid: false };
    case "square":
      return { d: `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`, solid: true };
    case "diamond":
      return { d: `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`, solid: true };
    case "triangle":
      return { d: `M0 ${-1.2 * r}L${1.2 * r} ${r}H${-1.2 * r}z`, solid: true };
    case "frame":
      return { d: `M0 ${-1.2 * r}L${1.2 * r} ${r}H${-1.2 * r}z`, solid: false };
  }
}

/** The computed colour, for a canvas, which cannot use CSS variables. */
export const colourOf = (tone: Tone): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${tone}`).trim();

/** A marker rendered to a small canvas, to be copied to every point. */
export function drawMarker(shape: Shape, tone: Tone, scale: number, r: number): HTMLCanvasElement {
  const made = document.createElement("canvas");
  made.width = made.height = Math.ceil((3 * r + 3) * scale);
  const paper = made.getContext("2d");
  if (!paper) return made;
  const colour = colourOf(tone);
  const { d, solid } = pathOf(shape, r);
  paper.translate(made.width / 2, made.height / 2);
  paper.scale(scale, scale);
  if (solid) {
    paper.globalAlpha = shape === "dot" ? 0.7 : 1;
    paper.fillStyle = colour;
    paper.fill(new Path2D(d));
  } else {
    paper.lineWidth = shape === "cross" ? 2 : 1.5;
    paper.strokeStyle = colour;
    paper.stroke(new Path2D(d));
  }
  return made;
}

/** The same shape for a legend. */
export function Marker({ state }: { state: string }) {
  const { d, solid } = pathOf(shapeOf(state), 3.5);
  const colour = fill(lookOf(state).tone);
  return (
    <svg width={12} height={12} viewBox="-6 -6 12 12" aria-hidden>
      <path d={d} fill={solid ? colour : "none"} stroke={solid ? "none" : colour} strokeWidth={1.75} />
    </svg>
  );
}
