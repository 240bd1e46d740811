internal import Music
