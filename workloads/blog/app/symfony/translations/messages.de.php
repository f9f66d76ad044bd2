<?php

declare(strict_types=1);

return [
    'title.blog' => 'Blog',
    'title.latest' => 'Neueste Beiträge',
    'title.tagged' => 'Beiträge zu %tag%',
    'menu.posts' => 'Beiträge',
    'menu.language' => 'Sprache',
    'post.by' => 'von %author%',
    'post.none' => 'Keine Beiträge gefunden.',
    'page.previous' => 'Zurück',
    'page.next' => 'Weiter',
    'page.current' => '(aktuell)',
    'sidebar.about' => 'Diese Seite ist die Übersicht eines Blogs mit Seiten, Schlagwörtern, Autoren und Daten.',
    'footer.licence' => 'Unter der Lizenz %licence%.',
];
