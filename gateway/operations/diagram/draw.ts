// Draws a diagram as SVG, from top to bottom. The SVG uses no inline styles, because the pages' CSP forbids them.

import { Html, html } from '../pages/html.ts';
import type { Block, Branch, NodeBlock } from './block.ts';

const node = { width: 224, height: 50 };
const gap = 26;
const branchGap = 14;
/** Height of the lines above the branches of a split (including the labels of the branches) and below them. */
const fan = { above: 46, below: 24 };
/** Heights of the lines above and below a split with a single branch. The line has a label but does not fork. */
const straight = { above: 40, below: 0 };
const loopPadding = { side: 12, above: 46, below: 22 };
const emptyBranchWidth = 84;
const margin = 8;
const terminal = 6;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Draws a diagram. @param title text alternative for screen readers */
export function drawDiagram(block: Block, title: string): Html {
  const { width, height } = sizeOf(block);
  const full = { width: width + 2 * margin, height: height + 2 * (margin + terminal * 2 + gap / 2) };
  const x = full.width / 2;
  const top = margin + terminal * 2;
  const end = full.height - top;
  return html`<svg
    class="diagram"
    width="${full.width}"
    height="${full.height}"
    viewBox="0 0 ${full.width} ${full.height}"
  >
    <title>${title}</title>
    <circle class="terminal" cx="${x}" cy="${top - terminal}" r="${terminal}" />
    ${line(`M${x} ${top}V${top + gap / 2}`)} ${draw(block, x, top + gap / 2)} ${line(`M${x} ${end - gap / 2}V${end}`)}
    <circle class="terminal" cx="${x}" cy="${end + terminal}" r="${terminal}" />
  </svg>`;
}

function sizeOf(block: Block): Size {
  if (block.kind === 'node') return node;
  if (block.kind === 'loop') {
    const { width, height } = sizeOf(block.block);
    return {
      width: Math.max(width + 2 * loopPadding.side, node.width),
      height: height + loopPadding.above + loopPadding.below,
    };
  }
  if (block.kind === 'sequence') {
    const sizes = block.blocks.map(sizeOf);
    const height = sizes.reduce((sum, size) => sum + size.height, 0) + gap * Math.max(0, sizes.length - 1);
    return { width: Math.max(0, ...sizes.map(({ width }) => width)), height };
  }
  const sizes = block.branches.map(branchSize);
  const width = sizes.reduce((sum, size) => sum + size.width, 0) + branchGap * Math.max(0, sizes.length - 1);
  const { above, below } = fanOf(block.branches);
  return { width, height: Math.max(0, ...sizes.map(({ height }) => height)) + above + below };
}

function fanOf({ length }: readonly Branch[]): { above: number; below: number } {
  return length === 1 ? straight : fan;
}

function branchSize({ block }: Branch): Size {
  const { width, height } = sizeOf(block);
  return { width: Math.max(width, emptyBranchWidth), height };
}

/** @param x centre @param y top edge */
function draw(block: Block, x: number, y: number): Html {
  if (block.kind === 'node') return drawNode(block, x, y);
  if (block.kind === 'loop') return drawLoop(block, x, y);
  if (block.kind === 'split') return drawSplit(block.branches, { x, y, size: sizeOf(block) });
  let top = y;
  const parts = block.blocks.map((part, index) => {
    const edge = index === 0 ? undefined : line(`M${x} ${top}V${top + gap}`);
    if (index > 0) top += gap;
    const drawn = draw(part, x, top);
    top += sizeOf(part).height;
    return html`${edge} ${drawn}`;
  });
  return html`${parts}`;
}

function drawSplit(branches: readonly Branch[], { x, y, size }: { x: number; y: number; size: Size }): Html {
  const bottom = y + size.height;
  const { above } = fanOf(branches);
  let left = x - size.width / 2;
  // Branches that were taken are drawn last, so that their lines cover the lines of the other branches.
  const drawn = branches.map((branch) => {
    const { width, height } = branchSize(branch);
    const centre = left + width / 2;
    left += width + branchGap;
    const start = y + above;
    const fork = `M${x} ${y}V${y + 12}H${centre}V${start}M${centre} ${start + height}V${bottom - 12}H${x}V${bottom}`;
    const path = branches.length === 1 ? `M${x} ${y}V${start}` : fork;
    const label = html`<text class="label" x="${centre}" y="${start - 14}"
      >${shorten(branch.label, Math.floor(width / 7))}</text
    >`;
    const part = html`${line(path, branch.isTaken)} ${label} ${draw(branch.block, centre, start)}`;
    return { part, isTaken: branch.isTaken };
  });
  const ordered = drawn.toSorted((one, other) => Number(one.isTaken) - Number(other.isTaken));
  return html`${ordered.map(({ part }) => part)}`;
}

function drawLoop(block: Extract<Block, { kind: 'loop' }>, x: number, y: number): Html {
  const { width, height } = sizeOf(block);
  const inner = y + loopPadding.above;
  const left = x - width / 2;
  return html`<rect class="loop" x="${left}" y="${y}" width="${width}" height="${height}" rx="10" />
    ${line(`M${x} ${y + 26}V${inner}M${x} ${y + height - loopPadding.below}V${y + height}`)}
    <text class="label" x="${x}" y="${y + 18}">↻ ${shorten(block.title, Math.floor(width / 7) - 2)}</text>
    ${draw(block.block, x, inner)}`;
}

/** Symbols that make states distinguishable without colours. */
const signs: Readonly<Record<NodeBlock['meaning'], string>> = { good: '✓', open: '…', late: '!', bad: '✕', idle: '' };

function drawNode({ title, subtitle, meaning, isControl, href, isCurrent }: NodeBlock, x: number, y: number): Html {
  const left = x - node.width / 2;
  const name = `node ${meaning}${isCurrent === true ? ' current' : ''}`;
  const shape = html`<g class="${name}">
    <title>${title}: ${subtitle}</title>
    <rect x="${left}" y="${y}" width="${node.width}" height="${node.height}" rx="${isControl === true ? 25 : 8}" />
    <circle cx="${left + 22}" cy="${y + 25}" r="10" />
    <text class="sign" x="${left + 22}" y="${y + 29}">${signs[meaning]}</text>
    <text class="name" x="${left + 40}" y="${y + 21}">${shorten(title, 25)}</text>
    <text class="detail" x="${left + 40}" y="${y + 38}">${shorten(subtitle, 30)}</text>
  </g>`;
  return href === undefined ? shape : html`<a href="${href}">${shape}</a>`;
}

function line(path: string, isTaken = true): Html {
  return html`<path class="edge${isTaken ? '' : ' idle'}" d="${new Html(path)}" />`;
}

function shorten(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, Math.max(1, longest - 1))}…` : text;
}
