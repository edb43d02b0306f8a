import { describe, expect, test } from 'vitest'
import { barChart } from '../../../console/parts/chart.ts'

const draw = async (values: readonly number[]) =>
  String(
    await barChart({
      caption: 'Usage',
      steps: 'Day',
      bars: values.map((value, n) => ({ label: `day ${n}`, value })),
      write: (value) => `${value} MB`,
    }),
  )
const heights = (svg: string) => [...svg.matchAll(/ height="([\d.]+)"><title>/g)].map(([, height]) => Number(height))

describe('a chart of bars', () => {
  test('is as high as its values, in both widths', async () => {
    const [none, half, whole] = heights(await draw([0, 50, 100]))

    expect(none).toBe(0)
    expect(whole).toBeCloseTo(2 * (half ?? 0), 0)
    expect(heights(await draw([0, 50, 100]))).toHaveLength(6)
  })

  test('has negative values in its table only', async () => {
    const svg = await draw([-5, 10])

    expect(heights(svg)[0]).toBe(0)
    expect(svg).toContain('<td class="number">-5 MB</td>')
  })

  test('has few words at its axis, and bars without a value', async () => {
    const svg = await draw(Array(72).fill(0))

    expect(svg.match(/<text x="[\d.]+" y="196">/g)).toHaveLength(6)
    expect(heights(svg)).toEqual(Array(144).fill(0))
  })
})
