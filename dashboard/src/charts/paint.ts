/**
 * Paints a part of the page onto a canvas, from what the browser computed: boxes, text and SVG shapes. Drawing it
 * ourselves needs no images from data: addresses, which the content security policy forbids.
 */

const SCALE = 2;
const MARGIN = 16;
const TITLE = 32;

export function paint(root: HTMLElement, title: string): HTMLCanvasElement {
  const bounds = root.getBoundingClientRect();
  const canvas = document.createElement("canvas");
  canvas.width = (bounds.width + 2 * MARGIN) * SCALE;
  canvas.height = (bounds.height + 2 * MARGIN + TITLE) * SCALE;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("This browser has no 2D canvas, so there is no picture to save.");
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue("--solid");
  context.fillRect(0, 0, canvas.width, canvas.height);
  const base = new DOMMatrix().scale(SCALE).translate(MARGIN - bounds.left, MARGIN + TITLE - bounds.top);
  context.setTransform(base);
  context.fillStyle = style.getPropertyValue("--ink");
  context.font = `600 16px ${getComputedStyle(root).fontFamily}`;
  context.fillText(title, bounds.left, bounds.top - TITLE / 2);
  paintElement(context, base, root);
  return canvas;
}

function paintElement(context: CanvasRenderingContext2D, base: DOMMatrix, element: Element): void {
  const style = getComputedStyle(element);
  const hidden = style.display === "none" || style.visibility === "hidden" || element.classList.contains("sr-only");
  if (hidden || element.tagName === "defs") return;
  context.save();
  context.globalAlpha *= Number(style.opacity);
  if (element instanceof SVGGraphicsElement) paintShape(context, base, element, style);
  else if (element instanceof HTMLElement) paintBox(context, element, style);
  for (const child of element.childNodes) {
    if (child instanceof Element) paintElement(context, base, child);
    else if (child instanceof Text && element instanceof HTMLElement) paintText(context, child, style);
  }
  context.restore();
}

function visible(colour: string): boolean {
  return colour !== "none" && colour !== "transparent" && !/[,/]\s*0\)$/.test(colour);
}

function paintBox(context: CanvasRenderingContext2D, element: HTMLElement, style: CSSStyleDeclaration): void {
  const { left, top, width, height } = element.getBoundingClientRect();
  const path = new Path2D();
  path.roundRect(left, top, width, height, Number.parseFloat(style.borderTopLeftRadius) || 0);
  if (visible(style.backgroundColor)) {
    context.fillStyle = style.backgroundColor;
    context.fill(path);
  }
  for (const [side, x, y, w, h] of [
    ["Top", left, top, width, 1],
    ["Bottom", left, top + height - 1, width, 1],
    ["Left", left, top, 1, height],
    ["Right", left + width - 1, top, 1, height],
  ] as const) {
    if (style[`border${side}Style`] === "none" || style[`border${side}Width`] === "0px") continue;
    context.fillStyle = style[`border${side}Color`];
    context.fillRect(x, y, w, h);
  }
  if (style.overflowX !== "visible" || style.overflowY !== "visible") context.clip(path);
}

/** Word by word, where the browser put each one. */
function paintText(context: CanvasRenderingContext2D, node: Text, style: CSSStyleDeclaration): void {
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = "middle";
  const range = document.createRange();
  for (const match of node.data.matchAll(/\S+/g)) {
    range.setStart(node, match.index);
    range.setEnd(node, match.index + match[0].length);
    const { left, top, height } = range.getBoundingClientRect();
    context.fillText(match[0], left, top + height / 2);
  }
}

function paintShape(
  context: CanvasRenderingContext2D,
  base: DOMMatrix,
  element: SVGGraphicsElement,
  style: CSSStyleDeclaration,
): void {
  const matrix = element.getScreenCTM();
  if (matrix === null) return;
  context.setTransform(base.multiply(matrix));
  if (element instanceof SVGTextElement) {
    paintSvgText(context, element, style);
  } else {
    const path = pathOf(element);
    if (path !== null) fillAndStroke(context, path, style);
  }
  context.setTransform(base);
}

function fillAndStroke(context: CanvasRenderingContext2D, path: Path2D, style: CSSStyleDeclaration): void {
  const alpha = context.globalAlpha;
  if (visible(style.fill)) {
    context.globalAlpha = alpha * Number(style.fillOpacity);
    context.fillStyle = style.fill;
    context.fill(path);
  }
  if (visible(style.stroke)) {
    context.globalAlpha = alpha * Number(style.strokeOpacity);
    context.strokeStyle = style.stroke;
    context.lineWidth = Number.parseFloat(style.strokeWidth);
    context.setLineDash(
      style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(Number.parseFloat),
    );
    context.stroke(path);
  }
  context.globalAlpha = alpha;
}

function paintSvgText(context: CanvasRenderingContext2D, element: SVGTextElement, style: CSSStyleDeclaration): void {
  const text = element.textContent ?? "";
  if (text === "") return;
  const { x, y } = element.getStartPositionOfChar(0);
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.fill;
  context.textBaseline = "alphabetic";
  context.fillText(text, x, y);
}

function pathOf(element: SVGGraphicsElement): Path2D | null {
  if (element instanceof SVGPathElement) return new Path2D(element.getAttribute("d") ?? "");
  const path = new Path2D();
  if (element instanceof SVGRectElement) {
    const { x, y, width, height, rx } = element;
    path.roundRect(x.baseVal.value, y.baseVal.value, width.baseVal.value, height.baseVal.value, rx.baseVal.value);
  } else if (element instanceof SVGCircleElement) {
    const { cx, cy, r } = element;
    path.arc(cx.baseVal.value, cy.baseVal.value, r.baseVal.value, 0, 2 * Math.PI);
  } else if (element instanceof SVGLineElement) {
    path.moveTo(element.x1.baseVal.value, element.y1.baseVal.value);
    path.lineTo(element.x2.baseVal.value, element.y2.baseVal.value);
  } else if (element instanceof SVGPolygonElement || element instanceof SVGPolylineElement) {
    for (const { x, y } of element.points) path.lineTo(x, y);
    if (element instanceof SVGPolygonElement) path.closePath();
  } else {
    return null;
  }
  return path;
}
