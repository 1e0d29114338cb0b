import type { InputImage, MediaProvider } from '../providers/media.ts'
import type { ResultKeeper } from './results-port.ts'
import type { TaskPace } from './tasks/deps.ts'

/** What pictures and films are made with and kept in. */
export interface MediaParts {
  readonly providers: Readonly<Record<string, MediaProvider>>
  readonly results: ResultKeeper
  readonly pictureAt: (url: string) => InputImage
  /** Other times than a real server's, in tests. */
  readonly pace?: Partial<TaskPace>
}
