import { type Chance, chanceOf, hills } from './chance.ts'
import { type Colour, mixed, type Palette, paletteFor } from './colour.ts'
import { isDot, LETTER_HEIGHT, LETTER_WIDTH } from './font.ts'

/** What is to be seen. */
export interface SceneOrder {
  readonly prompt: string
  readonly seed: number
  readonly width: number
  readonly height: number
}

/** Paints a scene at a time from 0 to 1 as rows of red, green and blue bytes. */
export type Painter = (time: number) => Uint8Array

/** How bright and which colour a point is; `x` goes from 0 to the picture's width over its height, `y` from 0 down to 1. */
type Shade = (x: number, y: number) => Colour

/** The picture that belongs to this prompt and seed: a landscape with its caption. Another seed is another picture. */
export function sceneOf({ prompt, seed, width, height }: SceneOrder): Painter {
  const words = prompt.toLowerCase().match(/\p{L}+/gu) ?? []
  const chance = chanceOf(`${seed} ${prompt}`)
  const palette = paletteFor(words, chance)
  const styles = [landscape, lake, orbs]
  const wanted = words.some((word) => /^(sea|ocean|lake|river|water|beach|island)$/.test(word)) ? 1 : chance.below(3)
  const shadeAt = (styles[wanted] ?? landscape)(palette, chance, width / height)
  const caption = captionOf(prompt, width, height)
  return (time) => {
    const shade = shadeAt(time)
    const pixels = new Uint8Array(width * height * 3)
    let index = 0
    for (let row = 0; row < height; row += 1) {
      for (let column = 0; column < width; column += 1) {
        const bright = caption(column, row)
        const colour = shade(column / height, row / height)
        // a fixed pattern of half steps hides the edges between neighbouring shades
        const dither = BAYER[((row & 3) << 2) | (column & 3)] ?? 0
        for (const part of colour) {
          const lit = bright === 1 ? 1 : part * (1 - 0.55 * bright)
          pixels[index] = Math.max(0, Math.min(255, lit * 255 + dither))
          index += 1
        }
      }
    }
    return pixels
  }
}

const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5].map((step) => step / 16)

type Style = (palette: Palette, chance: Chance, aspect: number) => (time: number) => Shade

/** Ridges before a sky; the light moves across it. */
const landscape: Style = (palette, chance, aspect) => {
  const skyAt = sky(palette, chance, aspect)
  const count = 4 + chance.below(3)
  const ridges = Array.from({ length: count }, (_, index) => {
    const depth = (index + 1) / count
    const line = hills(chance, 5)
    const [base, swing, pace] = [0.42 + depth * 0.42, 0.2 - depth * 0.1, chance.between(1.2, 2.4) + depth]
    const colour = mixed(palette.horizon, palette.near, 0.25 + depth * 0.75)
    const offset = chance.between(0, 60)
    return { top: (x: number) => base + swing * line(offset + x * pace), colour }
  })
  return (time) => {
    const above = skyAt(time)
    return (x, y) => {
      for (let index = ridges.length - 1; index >= 0; index -= 1) {
        const ridge = ridges[index]
        if (!ridge) continue
        const below = y - ridge.top(x)
        // each ridge stands in the haze of the one before it
        if (below > 0) return mixed(ridge.colour, palette.horizon, Math.min(0.35, below * 1.6) * (1 - y))
      }
      return above(x, y)
    }
  }
}

/** The same over water that mirrors it. */
const lake: Style = (palette, chance, aspect) => {
  const landAt = landscape(palette, chance, aspect)
  const shore = chance.between(0.58, 0.7)
  const ripple = hills(chance, 3)
  const scale = 0.62 / shore
  return (time) => {
    const land = landAt(time)
    return (x, y) => {
      if (y < shore) return land(x, y * scale)
      const depth = (y - shore) / (1 - shore)
      const shift = ripple(depth * 26 + x * 2 + Math.round(time * 12) / 4) * 0.02 * (0.3 + depth)
      const mirrored = land(x + shift, Math.max(0, shore - (y - shore) * 0.8 + shift) * scale)
      return mixed(mixed(mirrored, palette.skyTop, 0.18 + depth * 0.3), palette.light, shift > 0.011 ? 0.12 : 0)
    }
  }
}

/** Worlds that hang in the sky and drift. */
const orbs: Style = (palette, chance, aspect) => {
  const dim = (colour: Colour): Colour => mixed(palette.near, colour, palette.night ? 1 : 0.45)
  const space = {
    ...palette,
    skyTop: dim(palette.skyTop),
    skyMiddle: dim(palette.skyMiddle),
    horizon: dim(palette.horizon),
  }
  const skyAt = sky({ ...space, night: true }, chance, aspect)
  const bodies = Array.from({ length: 4 + chance.below(4) }, (_, index) => ({
    x: chance.between(0, aspect),
    y: chance.between(0.1, 0.9),
    radius: chance.between(0.05, 0.27) * (1 - index * 0.08),
    drift: chance.between(-0.12, 0.12),
    share: chance.between(0, 1),
    stripes: hills(chance, 4),
    tilt: chance.between(-0.6, 0.6),
  }))
  return (time) => {
    const above = skyAt(time)
    return (x, y) => {
      for (const body of bodies) {
        const [dx, dy] = [(x - body.x - body.drift * time) / body.radius, (y - body.y) / body.radius]
        const distance = dx * dx + dy * dy
        if (distance > 1) continue
        const bulge = Math.sqrt(1 - distance)
        const lit = Math.max(0.05, bulge * 0.75 - dx * 0.45 - dy * 0.4)
        const band = body.stripes((dy + dx * body.tilt) * 3.2) * 0.4 + 0.5
        const face = mixed(mixed(palette.horizon, palette.skyMiddle, body.share), palette.light, band * 0.6)
        return mixed(palette.near, face, lit)
      }
      return above(x, y)
    }
  }
}

/** A sky with its light, which moves, and stars by night. */
function sky(palette: Palette, chance: Chance, aspect: number): (time: number) => Shade {
  const [startX, endX] = [chance.between(0.15, 0.45) * aspect, chance.between(0.5, 0.85) * aspect]
  const [startY, endY] = [chance.between(0.2, 0.42), chance.between(0.12, 0.36)]
  const radius = chance.between(0.045, 0.1)
  const stars = palette.night ? starField(chance) : () => 0
  return (time) => {
    const [lightX, lightY] = [startX + (endX - startX) * time, startY + (endY - startY) * time]
    return (x, y) => {
      const upper = mixed(palette.skyTop, palette.skyMiddle, y / 0.4)
      let colour = y < 0.4 ? upper : mixed(palette.skyMiddle, palette.horizon, (y - 0.4) / 0.35)
      const distance = Math.hypot(x - lightX, y - lightY)
      const glow = Math.exp(-Math.max(0, distance - radius) * (palette.night ? 9 : 5)) * 0.65
      const edge = (radius - distance) / (radius * 0.03)
      colour = mixed(colour, palette.light, Math.max(glow, Math.min(1, edge)))
      return mixed(colour, palette.light, stars(x, y))
    }
  }
}

function starField(chance: Chance): (x: number, y: number) => number {
  const grid = Array.from({ length: 256 }, () => [
    chance.between(0.15, 0.85),
    chance.between(0.15, 0.85),
    chance.between(-1.4, 1),
  ])
  return (x, y) => {
    const [column, row] = [Math.floor(x * 18), Math.floor(y * 18)]
    const [starX = 0, starY = 0, size = 0] = grid[(column * 31 + row * 57) & 255] ?? []
    if (size <= 0) return 0
    const distance = Math.hypot(x * 18 - column - starX, y * 18 - row - starY)
    return Math.max(0, 1 - distance / (0.035 + size * 0.05)) * (1 - y)
  }
}

/** The prompt along the lower edge: 1 on a letter, less on the band behind it, 0 elsewhere. */
function captionOf(prompt: string, width: number, height: number): (column: number, row: number) => number {
  const dot = Math.max(1, Math.round(Math.min(width / 200, height / 120)))
  const margin = dot * 6
  const perLine = Math.floor((width - margin * 2) / (LETTER_WIDTH * dot))
  const lines = wrapped(prompt.normalize('NFKD').replace(/\p{M}/gu, ''), perLine).slice(0, CAPTION_LINES)
  const lineHeight = (LETTER_HEIGHT + 3) * dot
  const top = height - margin - lines.length * lineHeight
  if (perLine < 4 || lines.length === 0 || top < height * 0.4) return () => 0
  return (column, row) => {
    if (row < top - margin) return 0
    const line = lines[Math.floor((row - top) / lineHeight)]
    const place = Math.floor((column - margin) / (LETTER_WIDTH * dot))
    const character = row >= top && place >= 0 ? line?.[place] : undefined
    const dotColumn = Math.floor(((column - margin) % (LETTER_WIDTH * dot)) / dot)
    const dotRow = Math.floor(((row - top) % lineHeight) / dot)
    if (character !== undefined && dotRow < LETTER_HEIGHT && isDot(character, dotColumn, dotRow)) return 1
    return Math.min(0.9, (row - top + margin) / (margin * 2))
  }
}

const CAPTION_LINES = 3

function wrapped(text: string, perLine: number): string[][] {
  const lines: string[][] = []
  let line: string[] = []
  for (const word of text.split(/\s+/u).filter((word) => word !== '')) {
    const characters = [...word].slice(0, Math.max(1, perLine))
    if (line.length > 0 && line.length + 1 + characters.length > perLine) {
      lines.push(line)
      line = []
    }
    line = line.length === 0 ? characters : [...line, ' ', ...characters]
    if (lines.length > CAPTION_LINES) return lines
  }
  return line.length === 0 ? lines : [...lines, line]
}
