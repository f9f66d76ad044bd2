<?php

declare(strict_types=1);

return [
    'title.blog' => 'Blog',
    'title.latest' => 'Derniers articles',
    'title.tagged' => 'Articles sur %tag%',
    'menu.posts' => 'Articles',
    'menu.language' => 'Langue',
    'post.by' => 'par %author%',
    'post.none' => 'Aucun article trouvé.',
    'page.previous' => 'Précédent',
    'page.next' => 'Suivant',
    'page.current' => '(actuelle)',
    'sidebar.about' => 'Cette page est l’index d’un blog, avec des pages, des étiquettes, des auteurs et des dates.',
    'footer.licence' => 'Sous licence %licence%.',
];
