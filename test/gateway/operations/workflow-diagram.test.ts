// Tests of diagrams: the path of an execution, loops, dynamic forks, and executions without a definition.

import { describe, expect, it } from 'vitest';
import type { ExecutedTask } from '#lib/conductor/executions/execution.ts';
import type { Block } from '../../../gateway/operations/diagram/block.ts';
import { drawDiagram } from '../../../gateway/operations/diagram/draw.ts';
import { type DefinedTask, workflowDiagram } from '../../../gateway/operations/diagram/workflow-diagram.ts';

const executed = (referenceTaskName: string, fields: Partial<ExecutedTask> = {}): ExecutedTask => ({
  ...{ taskId: referenceTaskName, taskType: 'SIMPLE', referenceTaskName, status: 'COMPLETED' },
  ...fields,
});
const simple = (taskReferenceName: string): DefinedTask => ({ taskReferenceName, type: 'SIMPLE' });

/** Returns every node of a diagram as `title: meaning, subtitle`. */
function nodesOf(block: Block): string[] {
  if (block.kind === 'node') return [`${block.title}: ${block.meaning}, ${block.subtitle}`];
  if (block.kind === 'sequence') return block.blocks.flatMap(nodesOf);
  if (block.kind === 'loop') return [`loop ${block.title}`, ...nodesOf(block.block)];
  return block.branches.flatMap(({ label, isTaken, block: branch }) => [
    `${isTaken ? 'taken' : 'not taken'} ${label}`,
    ...nodesOf(branch),
  ]);
}

const choice: DefinedTask = {
  ...{ taskReferenceName: 'choice', type: 'SWITCH' },
  decisionCases: { a: [simple('in_a')], b: [] },
  defaultCase: [simple('otherwise')],
};

describe('workflowDiagram', () => {
  it.each([
    ['a', ['taken a', 'not taken b', 'not taken default']],
    ['b', ['not taken a', 'taken b', 'not taken default']],
    ['c', ['not taken a', 'not taken b', 'taken default']],
    [undefined, ['not taken a', 'not taken b', 'not taken default']],
  ])('shows the branches of a SWITCH that has chosen %s', (value, expected) => {
    const tasks = value === undefined ? [] : [executed('choice', { outputData: { evaluationResult: [value] } })];
    const branches = nodesOf(workflowDiagram({ tasks: [choice] }, tasks)).filter((line) => /taken/.test(line));
    expect(branches).toEqual(expected);
  });

  it('shows all iterations of a task in a loop as one node, which is failed when any of them failed', () => {
    const loop: DefinedTask = { taskReferenceName: 'each', type: 'DO_WHILE', loopOver: [simple('share')] };
    const tasks = [
      executed('each', { taskType: 'DO_WHILE', status: 'FAILED', iteration: 3 }),
      executed('share__1', { iteration: 1 }),
      executed('share__2', { iteration: 2, status: 'FAILED' }),
      executed('share__3', { iteration: 3 }),
    ];
    expect(nodesOf(workflowDiagram({ tasks: [loop] }, tasks))).toEqual([
      'loop each, DO_WHILE, failed',
      'share: bad, SIMPLE, failed 3×',
    ]);
  });

  it('shows at most eight of the tasks of a dynamic fork, and the number of the others', () => {
    const fork: DefinedTask = { taskReferenceName: 'fork', type: 'FORK_JOIN_DYNAMIC' };
    const forkedTasks = Array.from({ length: 11 }, (_, index) => `to_${index}`);
    const tasks = [executed('fork', { taskType: 'FORK', inputData: { forkedTasks } }), executed('to_0')];
    const nodes = nodesOf(workflowDiagram({ tasks: [fork] }, tasks));
    expect(nodes[0]).toBe('fork: good, FORK_JOIN_DYNAMIC, completed');
    expect(nodes).toContain('to_0: good, SIMPLE, completed');
    expect(nodes).toContain('to_7: idle, SIMPLE, not reached');
    expect(nodes.at(-1)).toBe('taken 3 more');
  });

  it('shows the latest of several attempts of a task', () => {
    const tasks = [
      executed('a', { status: 'FAILED', retryCount: 0 }),
      executed('a', { status: 'COMPLETED', retryCount: 1 }),
    ];
    expect(nodesOf(workflowDiagram({ tasks: [simple('a')] }, tasks))).toEqual(['a: good, SIMPLE, completed']);
  });

  it('shows the executed tasks in their order when there is no definition', () => {
    const tasks = [
      executed('first', { taskType: 'first' }),
      executed('then', { taskType: 'INLINE', status: 'TIMED_OUT' }),
    ];
    expect(nodesOf(workflowDiagram(undefined, tasks))).toEqual([
      'first: good, SIMPLE, completed',
      'then: bad, INLINE, timed out',
    ]);
  });

  it('links a sub-workflow to its execution', () => {
    const sub: DefinedTask = { taskReferenceName: 'sub', type: 'SUB_WORKFLOW', subWorkflowParam: { name: 'moviesWF' } };
    const tasks = [executed('sub', { taskType: 'SUB_WORKFLOW', subWorkflowId: 'id-1' })];
    const diagram = workflowDiagram({ tasks: [sub] }, tasks);
    expect(diagram).toMatchObject({ blocks: [{ title: 'moviesWF', href: '/executions/id-1' }] });
  });
});

describe('drawDiagram', () => {
  it('draws every node inside the picture and without overlap', () => {
    const tasks = [choice, { ...choice, taskReferenceName: 'again' }, simple('last')];
    const svg = drawDiagram(workflowDiagram({ tasks }, []), 'test').text;
    const [, width = 0, height = 0] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)?.map(Number) ?? [];
    const boxes = [...svg.matchAll(/<rect\s+x="([-\d.]+)"\s+y="([-\d.]+)"\s+width="(\d+)"\s+height="(\d+)"/g)].map(
      (match) => match.slice(1).map(Number),
    ) as [number, number, number, number][];
    expect(boxes).toHaveLength(7);
    for (const [x, y, w, h] of boxes) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x + w).toBeLessThanOrEqual(width);
      expect(y + h).toBeLessThanOrEqual(height);
    }
    const overlapping = boxes.flatMap(([x, y, w, h], index) =>
      boxes.slice(index + 1).filter(([ox, oy, ow, oh]) => x < ox + ow && ox < x + w && y < oy + oh && oy < y + h),
    );
    expect(overlapping).toEqual([]);
  });

  it('escapes names', () => {
    const svg = drawDiagram(workflowDiagram({ tasks: [simple('<script>"&')] }, []), '<script>').text;
    expect(svg).not.toContain('<script>');
  });
});
