import type { Chance } from './chance.ts'

/** Red, green and blue from 0 to 1. */
export type Colour = readonly [red: number, green: number, blue: number]

/** The colours of one picture. */
export interface Palette {
  readonly skyTop: Colour
  readonly skyMiddle: Colour
  readonly horizon: Colour
  readonly light: Colour
  readonly near: Colour
  readonly night: boolean
}

/** Hue in turns, saturation and lightness from 0 to 1. */
function hsl(hue: number, saturation: number, lightness: number): Colour {
  const reach = saturation * Math.min(lightness, 1 - lightness)
  const part = (offset: number): number => {
    const step = (offset + (((hue % 1) + 1) % 1) * 12) % 12
    return lightness - reach * Math.max(-1, Math.min(step - 3, 9 - step, 1))
  }
  return [part(0), part(8), part(4)]
}

/** Between two colours: `share` 0 is the first. */
export function mixed(a: Colour, b: Colour, share: number): Colour {
  const part = Math.max(0, Math.min(1, share))
  return [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part, a[2] + (b[2] - a[2]) * part]
}

/** Words of a prompt that set the hue, in turns. */
const HUES: Readonly<Record<string, number>> = {
  red: 0.99,
  fire: 0.03,
  orange: 0.07,
  desert: 0.09,
  autumn: 0.07,
  gold: 0.12,
  yellow: 0.14,
  green: 0.36,
  forest: 0.38,
  ocean: 0.53,
  sea: 0.53,
  blue: 0.6,
  ice: 0.56,
  winter: 0.57,
  purple: 0.77,
  violet: 0.77,
  pink: 0.91,
}

/** Colours that belong together, led by the prompt's words where they name one. */
export function paletteFor(words: readonly string[], chance: Chance): Palette {
  const [rolledHue, rolledWarmth] = [chance.between(0.5, 0.88), chance.between(0.95, 1.13)]
  const named = words.map((word) => HUES[word]).find((hue) => hue !== undefined)
  const hue = named ?? rolledHue
  // the evening's warm edge; under a warm sky it is only a little further
  const warm = hue > 0.4 && hue < 0.92 ? rolledWarmth : hue + 0.07
  const night = words.some((word) => /^(night|moon|stars?|space|dark)$/.test(word)) || chance.below(3) === 0
  return night ? nightly(hue, warm) : daily(hue, warm)
}

const nightly = (hue: number, warm: number): Palette => ({
  skyTop: hsl(hue, 0.65, 0.07),
  skyMiddle: hsl(hue + 0.03, 0.5, 0.22),
  horizon: hsl(warm - 0.04, 0.45, 0.45),
  light: hsl(warm, 0.5, 0.92),
  near: hsl(hue, 0.6, 0.05),
  night: true,
})

const daily = (hue: number, warm: number): Palette => ({
  skyTop: hsl(hue, 0.5, 0.4),
  skyMiddle: hsl(hue + 0.05, 0.55, 0.68),
  horizon: hsl(warm, 0.85, 0.78),
  light: hsl(warm + 0.03, 0.95, 0.94),
  near: hsl(hue - 0.02, 0.55, 0.13),
  night: false,
})
